// SPDX-License-Identifier: BSD-3-Clause
// How a writer copies into its arena for one reader: through its cache, or past it into memory. M10.
//
// Which is quicker depends on where both cores are. Cores that share a cache hand lines over there. Between
// others each line has to be taken back from the reader before it is written, and to be fetched from the
// writer's cache. Nobody tells a program where its cores are, and virtual machines move them. So a few
// messages are timed in both ways, on both sides, soon and now and then. What was copied past the cache lies
// in memory of its own: otherwise the first copies through the cache behind it would be slow ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace unisono::shm {

// What the reader tells of messages that are timed; its own line.
struct alignas(64) ReaderTimes {
  static constexpr int most = 16;
  std::atomic<std::uint32_t> ns[most];  // 0: not told yet
};

class CopyWay {
 public:
  static constexpr int timed_of_each = 6;

  explicit CopyWay(ReaderTimes* times) : times_(times) {}

  // One copy.
  struct Copy {
    bool is_streaming = false;
    int timed = -1;  // its number among those that are timed
  };
  // Of the next message of so many bytes, or of a piece of it.
  Copy next(std::size_t bytes) {
    OfLength& length = lengths_[length_class(bytes)];
    if (length.until_timed != 0) [[likely]] {
      --length.until_timed;
      return {.is_streaming = length.is_streaming};
    }
    return next_timed(&length);
  }
  // The last one is not made, since it has no place.
  void drop(const Copy& copy) {
    if (copy.timed >= 0) --timed_;
  }
  // Makes it, and takes its time where that is wanted.
  void copy(const Copy& how, void* into, const void* from, std::size_t bytes);

 private:
  struct OfLength {
    bool is_streaming = false;
    std::uint32_t until_timed = first_interval, interval = first_interval;
  };
  static constexpr std::uint32_t first_interval = 64;
  static constexpr std::size_t lengths = 4, first_in_pieces = 2;
  // Up to 2 KiB, 8 KiB, 32 KiB, and longer ones.
  static std::size_t length_class(std::size_t bytes) {
    return bytes <= 8192 ? (bytes <= 2048 ? 0 : 1) : (bytes <= 32768 ? 2 : 3);
  }

  Copy next_timed(OfLength* length);
  void decide(OfLength* length);

  ReaderTimes* times_;
  OfLength lengths_[lengths];
  // One length at a time.
  OfLength* timing_ = nullptr;
  int timed_ = 0;   // so far
  int waited_ = 0;  // messages since then
  std::uint32_t own_ns_[2 * timed_of_each] = {};
};

}  // namespace unisono::shm
