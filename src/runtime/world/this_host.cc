// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/this_host.h"

#include <unistd.h>

#include <array>

namespace unisono::runtime {

std::string name_of_this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

}  // namespace unisono::runtime
