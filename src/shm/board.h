// SPDX-License-Identifier: BSD-3-Clause
// What ranks of a node tell each other beside their calls: short rows of numbers under keys. Stands in the
// segment itself. Nobody waits for anybody: what is being written is not there yet, and what finds no room is
// not told.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unisono::shm {

class Board {
 public:
  static constexpr std::size_t most_numbers = 72, most_keys = 128;

  // `key` is not 0. Of more numbers the first ones are told.
  void write(std::uint64_t key, const std::vector<std::uint64_t>& numbers);
  std::vector<std::uint64_t> read(std::uint64_t key) const;  // empty: there are none
  // How many work on what belongs under the key.
  void begin(std::uint64_t key);
  void end(std::uint64_t key);
  bool has_begun(std::uint64_t key) const;

 private:
  // Zero-filled is the initial state.
  struct Entry {
    std::atomic<std::uint64_t> key;      // 0: free
    std::atomic<std::uint32_t> version;  // 0: nothing was written; odd: somebody writes
    std::atomic<std::int32_t> workers;
    std::atomic<std::uint64_t> count;
    std::array<std::atomic<std::uint64_t>, most_numbers> numbers;
  };
  const Entry* find(std::uint64_t key) const;
  Entry* find_or_take(std::uint64_t key);

  std::array<Entry, most_keys> entries_;
};

}  // namespace unisono::shm
