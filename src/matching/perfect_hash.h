// SPDX-License-Identifier: BSD-3-Clause
// M3, section 4.2.2: a hash without collisions, for keys that are known beforehand. Keys stand in a matrix of
// m rows and m columns. Each row is moved to the right until no two keys share a column; then all rows are
// laid one over the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace unisono::matching {

class PerfectHash {
 public:
  // The value of a key is its place in `keys`, which are all different.
  explicit PerfectHash(const std::vector<std::uint64_t>& keys);

  std::optional<std::uint32_t> find(std::uint64_t key) const {
    if (key >= side_ * side_) return std::nullopt;
    const std::uint64_t place = shifts_[key / side_] + key % side_;
    if (place >= entries_.size() || entries_[place].key != key) return std::nullopt;
    return entries_[place].value;
  }
  std::size_t bytes() const {
    return shifts_.capacity() * sizeof(shifts_[0]) + entries_.capacity() * sizeof(Entry);
  }

 private:
  struct Entry {
    std::uint64_t key = ~0ULL;  // no key: it is beyond the matrix
    std::uint32_t value = 0;
  };

  std::uint64_t side_ = 1;  // m
  std::vector<std::uint64_t> shifts_;
  std::vector<Entry> entries_;
};

}  // namespace unisono::matching
