// SPDX-License-Identifier: BSD-3-Clause
// Receives and messages of a trace are numbers; queues know them by pointers.
#pragma once

#include <cstdint>

#include "matching/envelope.h"

namespace unisono::traces {

inline matching::Item item_of(std::uint32_t index) {
  return reinterpret_cast<matching::Item>(static_cast<std::uintptr_t>(index) + 1);
}
inline std::uint32_t index_of(matching::Item item) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(item) - 1);
}

}  // namespace unisono::traces
