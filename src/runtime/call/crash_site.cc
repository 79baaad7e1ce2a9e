// SPDX-License-Identifier: BSD-3-Clause
// By itself: tests of the adapter have no other part of the runtime.
#include "runtime/call/crash_site.h"

namespace unisono::runtime {

[[gnu::tls_model("initial-exec")]] constinit thread_local CrashSite crash_site;

}  // namespace unisono::runtime
