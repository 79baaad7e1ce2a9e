// SPDX-License-Identifier: BSD-3-Clause
// An entry of a queue as lists keep it, and what they look for.
#pragma once

#include "matching/envelope.h"

namespace unisono::matching {

struct Element {
  std::uint64_t key;
  Item item;
  std::uint64_t sequence;  // entries of one queue are numbered as they come
  std::uint32_t context;
  bool operator==(const Element&) const = default;
};

inline Element element_of(const Envelope& envelope, Item item, std::uint64_t sequence) {
  return {key_of(envelope), item, sequence, envelope.context};
}

// What lists are made with. Linked lists need nothing.
struct ListSettings {
  int block = 2;  // elements in a block of lists of arrays and of vectors, at most `largest_block`
};
inline constexpr int largest_block = 4095;

// What is looked for. A message has no wildcards, an entry of a receive's may have some: both masks count.
struct Pattern {
  std::uint64_t key;
  std::uint64_t mask;
  std::uint32_t context;
};

inline Pattern pattern_of(const Envelope& envelope) {
  const std::uint64_t key = key_of(envelope);
  return {key, mask_of(key), envelope.context};
}

}  // namespace unisono::matching
