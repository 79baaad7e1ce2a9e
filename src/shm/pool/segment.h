// SPDX-License-Identifier: BSD-3-Clause
// A piece of memory that processes of one node map together. It has no name, or none after set-up, so nothing
// is left behind however a job ends. It is mapped window by window: each is as long as all before it, so that
// address space goes with what is used. What is taken of it must not reach from one window into the next.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"

namespace unisono::shm {

enum class SegmentKind : std::uint8_t {
  memfd,  // passed through /proc/PID/fd
  named,  // shm_open, unlinked as soon as all have opened it
  alone   // anonymous memory of one process
};

// 64 bits that no other segment has.
std::uint64_t draw_nonce();

class Segment {
 public:
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Each returns null on failure, with the reason in *why. `nonce` goes into the segment's name. The capacity
  // is virtual: pages are taken when they are touched (memfd, alone) or by back() (named); `header_bytes` at
  // the beginning are there at once.
  static std::unique_ptr<Segment> create(SegmentKind kind, std::uint64_t nonce, std::size_t capacity_bytes,
                                         std::size_t header_bytes, std::string* why);
  // The memfd that process `process_id` holds as `descriptor`: only opened if it bears the nonce's name.
  static std::unique_ptr<Segment> open_memfd(int process_id, int descriptor, std::uint64_t nonce,
                                             std::string* why);
  static std::unique_ptr<Segment> open_named(std::uint64_t nonce, std::string* why);

  // Once all others have opened it, the creator takes the name away. The descriptor stays as long as there
  // are windows to map.
  void forget_name();

  // Room for what MPI_COMM_WORLD takes with standard options, streams among it.
  static constexpr std::size_t first_window_bytes = std::size_t{32} << 20;
  static constexpr int most_windows = 24;
  struct Window {
    std::size_t begin = 0, end = 0;
  };
  int windows() const;  // in all
  Window window(int number) const;
  // The first one always is. False where the limits or the system forbid it, which may change.
  bool map_window(int number);
  // Of a window that is mapped.
  char* at(std::size_t offset) const;
  char* address() const { return addresses_[0]; }
  std::size_t capacity_bytes() const { return capacity_bytes_; }
  int descriptor() const { return descriptor_; }

  // Makes sure that the range has memory behind it; false where there is none left.
  bool back(std::size_t offset, std::size_t bytes) const;
  // Zeroes whole pages and gives their memory back to the system.
  void clear(std::size_t offset, std::size_t bytes) const;

 private:
  Segment(SegmentKind kind, std::uint64_t nonce) : kind_(kind), nonce_(nonce) {}
  bool take(int descriptor, std::string* why);
  bool map_first(std::string* why);
  bool map(int number) UNISONO_REQUIRES(map_mutex_);
  bool holds_descriptor() const;

  SegmentKind kind_;
  std::uint64_t nonce_;
  bool has_name_ = false;
  int descriptor_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;  // what descriptor_ stood for
  // Held while a window is mapped, so that none is twice. Addresses are read without it.
  Mutex map_mutex_;
  std::array<std::atomic<char*>, most_windows> addresses_{};
  std::size_t capacity_bytes_ = 0;
};

}  // namespace unisono::shm
