// SPDX-License-Identifier: BSD-3-Clause
// What goes from one rank to another of its node in order: a ring of lines that the one writes and the other
// reads. M10.
//
// An item takes one to five lines. Its first line is stamped last, so that who sees the stamp may read all of
// it. Lines lie side by side, and those that are polled of several rings fall into different cache sets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace unisono::shm {

inline constexpr int least_ring_lines = 64;

struct alignas(64) RingLine {
  // Of an item's first line: its number among all lines that were written, counted from 1.
  std::atomic<std::uint64_t> stamp;
  std::byte rest[56];
};

// One direction of a pair, in memory that both share; the lines follow. Zero-filled is its initial state.
struct RingMemory {
  alignas(64) std::atomic<std::uint64_t> read;  // lines; told now and then
  static constexpr std::size_t bytes(int lines) {
    return sizeof(RingMemory) + static_cast<std::size_t>(lines) * sizeof(RingLine);
  }
};

// Where it is, as either end knows it. `count`: a power of two, at least least_ring_lines; both say the same.
struct RingPlace {
  RingMemory* memory;
  int count = least_ring_lines;
  std::uint64_t lines() const { return static_cast<std::uint64_t>(count); }
  RingLine& at(std::uint64_t number) const {
    return reinterpret_cast<RingLine*>(memory + 1)[number & (lines() - 1)];
  }
};

// Two words that mean something to those who use the ring, and some bytes with them.
struct RingItem {
  std::uint64_t words[2];
};

// The first line has the item and bytes, further lines have bytes. None of them reach into a stamp: what is
// left there of an earlier lap must never look like that of a later one.
inline constexpr std::size_t bytes_of_first_line = sizeof(RingLine::rest) - sizeof(RingItem);
inline constexpr std::size_t bytes_of_further_line = sizeof(RingLine::rest);
inline constexpr int most_lines_of_item = 5;
inline constexpr std::size_t most_bytes_of_item =
    bytes_of_first_line + (most_lines_of_item - 1) * bytes_of_further_line;

constexpr int ring_lines_of(std::size_t bytes) {
  return bytes <= bytes_of_first_line
             ? 1
             : 1 + static_cast<int>((bytes - bytes_of_first_line + bytes_of_further_line - 1) /
                                    bytes_of_further_line);
}

// The end that writes. One thread at a time.
class RingWriter {
 public:
  explicit RingWriter(RingPlace place) : place_(place) {}

  // May `bytes` (at most most_bytes_of_item) be written now?
  bool has_room(std::size_t bytes) { return is_free(ring_lines_of(bytes)); }
  // Only where there is room.
  void write(const RingItem& item, const void* data, std::size_t bytes);
  // Has all been read, as far as the reader has told?
  bool is_read() const { return place_.memory->read.load(std::memory_order_acquire) == written_; }

 private:
  bool is_free(int count) {
    if (written_ + static_cast<std::uint64_t>(count) - read_ <= place_.lines()) return true;
    read_ = place_.memory->read.load(std::memory_order_acquire);
    return written_ + static_cast<std::uint64_t>(count) - read_ <= place_.lines();
  }

  RingPlace place_;
  std::uint64_t written_ = 0;  // lines
  std::uint64_t read_ = 0;     // as it was last seen
};

// The end that reads. One thread at a time.
class RingReader {
 public:
  explicit RingReader(RingPlace place) : place_(place) {}

  // The next item, or null where none has come yet. It stays until drop().
  const RingItem* peek() const {
    const RingLine& line = place_.at(read_);
    if (line.stamp.load(std::memory_order_acquire) != read_ + 1) return nullptr;
    return reinterpret_cast<const RingItem*>(line.rest);
  }
  // Items come one behind the other: a line further on is fetched while this one is looked at.
  void fetch_ahead() const { __builtin_prefetch(&place_.at(read_ + lines_ahead)); }
  // What the next item brought along in its first line: at most bytes_of_first_line.
  const std::byte* first_bytes() const { return place_.at(read_).rest + sizeof(RingItem); }
  // What the next item brought along: its first `bytes`.
  void copy(void* into, std::size_t bytes) const;
  // Goes on behind the next item, which brought so many bytes along.
  void drop(std::size_t bytes) {
    read_ += static_cast<std::uint64_t>(ring_lines_of(bytes));
    // The writer looks only where the ring seems full. To tell it each time would take the line back and
    // forth.
    if (read_ - told_ >= place_.lines() / 4) tell();
  }
  // Tells the writer all that was read.
  void tell() {
    told_ = read_;
    place_.memory->read.store(read_, std::memory_order_release);
  }
  bool has_to_tell() const { return told_ != read_; }

 private:
  static constexpr std::uint64_t lines_ahead = 8;

  RingPlace place_;
  std::uint64_t read_ = 0, told_ = 0;  // lines
};

}  // namespace unisono::shm
