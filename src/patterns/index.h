// SPDX-License-Identifier: BSD-3-Clause
// Ranks, nodes and groups are ints; vectors of them are looked into by this.
#pragma once

#include <cstddef>

namespace unisono::patterns {

inline std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace unisono::patterns
