// SPDX-License-Identifier: BSD-3-Clause
#include "matching/open_table.h"

#include <algorithm>
#include <utility>

namespace unisono::matching {
namespace {

constexpr std::uint32_t fewest_buckets = 8;
constexpr std::uint32_t far_larger = 8;

// 2.6 slots a list: 42 bytes. The table is made anew when half of the slots are used, at 32 bytes.
std::uint32_t buckets_for(std::uint32_t lists) {
  return std::max(fewest_buckets, static_cast<std::uint32_t>(std::uint64_t{lists} * 21 / 32));
}

// The generator of splitmix64.
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15ULL;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9ULL;
  number = (number ^ number >> 27) * 0x94D049BB133111EBULL;
  return number ^ number >> 31;
}

}  // namespace

HashSeed hash_seed_from(std::uint64_t number) {
  return {mixed(number), mixed(number + 1) | 1};
}

OpenTable::Slot OpenTable::find_elsewhere(Bucket* bucket, std::uint64_t key) const {
  // A bucket with an unused slot ends the search. There is one: at most half of all slots are used.
  for (;; bucket = after(bucket)) {
    bool is_last = false;
    for (std::uint32_t at = 0; at < 4; ++at) {
      if (bucket->keys[at] == key) return {bucket, at};
      is_last |= bucket->heads[at] == unused;
    }
    if (is_last) return {};
  }
}

// The key has no place yet. One whose key has no list is as good as one without a key: whoever is behind it
// is still found, as the slot stays used.
OpenTable::Slot OpenTable::place_for(std::uint64_t key) {
  const std::uint64_t hash = hash_of(key);
  const auto preferred = static_cast<std::uint32_t>(hash & 3);
  for (Bucket* bucket = &buckets_[bucket_of(hash)];; bucket = after(bucket)) {
    if (bucket->heads[preferred] >= none) return {bucket, preferred};
    for (std::uint32_t at = 0; at < 4; ++at)
      if (bucket->heads[at] == none) return {bucket, at};
    for (std::uint32_t at = 0; at < 4; ++at)
      if (bucket->heads[at] == unused) return {bucket, at};
  }
}

OpenTable::Slot OpenTable::insert_new(std::uint64_t key) {
  if ((used_ + 1) * 2 > slots()) resize(std::max(most_lists_, lists_ + 1));
  const Slot slot = place_for(key);
  if (slot.head() == unused) ++used_;
  slot.bucket->keys[slot.at] = key;
  slot.head() = none;
  return slot;
}

bool OpenTable::review() {
  const std::uint32_t needed = std::max(most_lists_, lists_);
  most_lists_ = lists_;
  if (buckets_for(needed) >= buckets_count_ / far_larger) return false;
  resize(needed);
  return true;
}

void OpenTable::resize(std::uint32_t lists) {
  const std::unique_ptr<Bucket[]> old = std::move(buckets_);
  const std::uint32_t old_count = buckets_count_;
  buckets_count_ = buckets_for(lists);
  buckets_ = std::make_unique_for_overwrite<Bucket[]>(buckets_count_);
  const Bucket empty = {{no_key, no_key, no_key, no_key}, {unused, unused, unused, unused}, {}};
  std::fill_n(buckets_.get(), buckets_count_, empty);
  used_ = 0;
  for (std::uint32_t i = 0; i < old_count && lists_ != 0; ++i) {
    for (std::uint32_t at = 0; at < 4; ++at) {
      if (old[i].heads[at] >= none) continue;
      const Slot slot = place_for(old[i].keys[at]);
      slot.bucket->keys[slot.at] = old[i].keys[at];
      slot.head() = old[i].heads[at];
      slot.word() = old[i].words[at];
      ++used_;
    }
  }
}

}  // namespace unisono::matching
