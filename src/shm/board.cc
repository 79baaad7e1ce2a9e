// SPDX-License-Identifier: BSD-3-Clause
#include "shm/board.h"

#include <algorithm>

namespace unisono::shm {
namespace {

constexpr int most_looks = 4;

}  // namespace

const Board::Entry* Board::find(std::uint64_t key) const {
  for (std::size_t i = 0; i < most_keys; ++i) {
    const Entry& entry = entries_[(key + i) % most_keys];
    const std::uint64_t there = entry.key.load(std::memory_order_acquire);
    if (there == key) return &entry;
    if (there == 0) return nullptr;
  }
  return nullptr;
}

Board::Entry* Board::find_or_take(std::uint64_t key) {
  for (std::size_t i = 0; i < most_keys; ++i) {
    Entry& entry = entries_[(key + i) % most_keys];
    std::uint64_t there = 0;
    if (entry.key.compare_exchange_strong(there, key) || there == key) return &entry;
  }
  return nullptr;
}

void Board::write(std::uint64_t key, const std::vector<std::uint64_t>& numbers) {
  Entry* entry = find_or_take(key);
  if (entry == nullptr) return;
  std::uint32_t version = entry->version.load(std::memory_order_relaxed);
  // Who comes while another one writes has nothing better to tell.
  if (version % 2 != 0 || !entry->version.compare_exchange_strong(version, version + 1)) return;
  // Whoever sees one of these sees that somebody writes.
  const std::size_t count = std::min(numbers.size(), most_numbers);
  for (std::size_t i = 0; i < count; ++i) entry->numbers[i].store(numbers[i], std::memory_order_release);
  entry->count.store(count, std::memory_order_release);
  entry->version.store(version + 2, std::memory_order_release);
}

std::vector<std::uint64_t> Board::read(std::uint64_t key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  for (int look = 0; look < most_looks; ++look) {
    const std::uint32_t version = entry->version.load(std::memory_order_acquire);
    if (version == 0) return {};
    if (version % 2 != 0) continue;
    std::vector<std::uint64_t> numbers(
        std::min<std::uint64_t>(entry->count.load(std::memory_order_acquire), most_numbers));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = entry->numbers[i].load(std::memory_order_acquire);
    if (entry->version.load(std::memory_order_relaxed) == version) return numbers;
  }
  return {};
}

void Board::begin(std::uint64_t key) {
  if (Entry* entry = find_or_take(key)) entry->workers.fetch_add(1, std::memory_order_relaxed);
}

void Board::end(std::uint64_t key) {
  if (Entry* entry = find_or_take(key)) entry->workers.fetch_sub(1, std::memory_order_relaxed);
}

bool Board::has_begun(std::uint64_t key) const {
  const Entry* entry = find(key);
  return entry != nullptr && entry->workers.load(std::memory_order_relaxed) > 0;
}

}  // namespace unisono::shm
