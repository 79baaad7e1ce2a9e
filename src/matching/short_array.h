// SPDX-License-Identifier: BSD-3-Clause
// M8: the oldest entries of a queue, up to eight. They stand in the order in which they came, in sixteen
// places. One after the other is compared: a wide load behind a fresh store would wait for the store.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "matching/envelope.h"

namespace unisono::matching {

class alignas(64) ShortArray {
 public:
  static constexpr int places = 16;
  static constexpr int most_entries = 8;
  static constexpr int nowhere = -1;

  bool is_empty() const { return taken_ == 0; }
  bool is_full() const { return entries_ == most_entries; }

  // Not where it is full.
  void append(std::uint64_t key, Item item) {
    if (end_ == places) close_up();
    keys_[end_] = key;
    masks_[end_] = mask_of(key);
    items_[end_] = item;
    taken_ |= 1U << end_++;
    ++entries_;
  }

  // The oldest entry that fits `key` where `mask` has bits.
  int find(std::uint64_t key, std::uint64_t mask, std::uint64_t* looked_at) const {
    for (std::uint32_t left = taken_; left != 0; left &= left - 1) {
      const int place = std::countr_zero(left);
      ++*looked_at;
      if (((keys_[place] ^ key) & masks_[place] & mask) == 0) return place;
    }
    return nowhere;
  }

  int find_item(Item item) const {
    for (std::uint32_t left = taken_; left != 0; left &= left - 1)
      if (const int place = std::countr_zero(left); items_[place] == item) return place;
    return nowhere;
  }

  Item item(int place) const { return items_[place]; }

  Item erase(int place) {
    taken_ &= ~(1U << place);
    if (--entries_ == 0) end_ = 0;
    return items_[place];
  }

 private:
  void close_up() {
    int end = 0;
    for (std::uint32_t left = taken_; left != 0; left &= left - 1) {
      const int place = std::countr_zero(left);
      keys_[end] = keys_[place];
      masks_[end] = masks_[place];
      items_[end] = items_[place];
      ++end;
    }
    end_ = end;
    taken_ = (1U << end) - 1;
  }

  std::uint32_t taken_ = 0;  // a bit for each place
  int entries_ = 0;
  int end_ = 0;  // the next entry's place
  std::uint64_t keys_[places];
  std::uint64_t masks_[places];
  Item items_[places];
};

}  // namespace unisono::matching
