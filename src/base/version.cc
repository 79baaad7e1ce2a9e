// SPDX-License-Identifier: BSD-3-Clause
#include "base/version.h"

namespace unisono {

// A file of its own: a new version compiles no other one of the core.
const char* own_version() {
  return UNISONO_VERSION;
}

}  // namespace unisono
