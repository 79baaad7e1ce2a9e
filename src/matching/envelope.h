// SPDX-License-Identifier: BSD-3-Clause
// What receives and messages are matched by.
#pragma once

#include <cstdint>

namespace unisono::matching {

// What the caller knows a receive or a message by. It is never null, and no two entries of one queue share
// it.
using Item = void*;

// Only receives have these.
inline constexpr std::int32_t any_source = -1;
inline constexpr std::int32_t any_tag = -1;

// Which communication an entry comes from. Entries that may match have the same operation: it follows from
// the context and the tag. The rest may differ.
struct Kind {
  std::uint8_t operation = 0;    // 0: point-to-point; otherwise a number for each collective
  std::uint8_t bytes_class = 0;  // of a collective: its message's size, as a power of two
  std::uint8_t ranks_class = 0;  // the same of the communicator's size
  std::uint8_t call = 0;         // the last bits of the call's number: is it another call than before?

  bool is_collective() const { return operation != 0; }
  bool operator==(const Kind&) const = default;
};

// Of a message, or of the receive that asks for it. Sources lie below the number of ranks that the queues
// were made for, tags are not negative, contexts lie below `most_contexts`.
struct Envelope {
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint32_t context = 0;  // of the communicator
  Kind kind;

  bool operator==(const Envelope&) const = default;
};
inline constexpr std::uint32_t most_contexts = (1U << 30) - 1;

// Source and tag in one word. A wildcard is the value that has all bits set.
inline std::uint64_t key_of(const Envelope& envelope) {
  return std::uint64_t{static_cast<std::uint32_t>(envelope.source)} << 32 |
         static_cast<std::uint32_t>(envelope.tag);
}

// The four shapes of wildcards: 0 exact, 1 any tag, 2 any source, 3 both.
inline constexpr int shapes = 4;
inline constexpr std::uint64_t wild_bits[shapes] = {0, 0xFFFFFFFFULL, 0xFFFFFFFF00000000ULL, ~0ULL};
inline int shape_of(std::uint64_t key) {
  return (static_cast<std::uint32_t>(key) == 0xFFFFFFFFU ? 1 : 0) | (key >> 32 == 0xFFFFFFFFU ? 2 : 0);
}

// The bits of a key that count.
inline std::uint64_t mask_of(std::uint64_t key) {
  return ~wild_bits[shape_of(key)];
}

}  // namespace unisono::matching
