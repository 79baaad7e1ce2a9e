// SPDX-License-Identifier: BSD-3-Clause
// By itself: tests of the adapter have no other part of the runtime.
#include "runtime/call/this_thread.h"

namespace unisono::runtime {

[[gnu::tls_model("initial-exec")]] constinit thread_local ThisThread this_thread;

}  // namespace unisono::runtime
