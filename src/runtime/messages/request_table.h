// SPDX-License-Identifier: BSD-3-Clause
// Requests at places that have numbers, so that a program's handle can say which one it is. M10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/messages/message.h"

namespace unisono::runtime {

class RequestTable {
 public:
  // Bytes in front of a place's request: what looks at an address that the program has for its request finds
  // memory there.
  static constexpr std::size_t front_bytes = 256;
  // From one place to the next: an odd number of cache lines, so that many requests share no cache set.
  static constexpr std::size_t place_bytes = ((front_bytes + sizeof(MessageRequest)) / 64 | 1) * 64;
  // So many places keep their memory: programs use it again, and it is slow to get.
  static constexpr std::size_t most_kept = std::size_t{1} << 17;

  // Reserves address space for `most` requests, or for fewer where the system refuses.
  explicit RequestTable(std::size_t most = std::size_t{1} << 24);
  ~RequestTable();
  RequestTable(const RequestTable&) = delete;
  RequestTable& operator=(const RequestTable&) = delete;

  // What each place begins with from now on, at most front_bytes. Before the first one is taken.
  void put_in_front(std::vector<std::byte> bytes) { front_ = std::move(bytes); }
  // Null where all places are taken.
  MessageRequest* take();
  // One that is free already stays so. Behind many of them, memory that no request needs goes back to the
  // system.
  void give(MessageRequest* request);
  std::size_t live() const { return made_ - free_.size(); }

  // Where the places begin, and how many bytes they have all together. 0 bytes: there are none.
  std::uintptr_t begin() const { return begin_; }
  std::size_t bytes() const { return most_ * place_bytes; }
  bool has(const MessageRequest* request) const {
    return reinterpret_cast<std::uintptr_t>(request) - begin_ < bytes();
  }
  MessageRequest* at(std::size_t number) const {
    return reinterpret_cast<MessageRequest*>(begin_ + number * place_bytes + front_bytes);
  }
  std::size_t number_of(const MessageRequest* request) const {
    return (reinterpret_cast<std::uintptr_t>(request) - begin_) / place_bytes;
  }

 private:
  void make(MessageRequest* place);
  void give_memory_back();
  void blank(std::size_t first, std::size_t end);

  std::uintptr_t begin_ = 0;
  std::size_t most_ = 0;
  std::size_t made_ = 0;                // places that have ever been taken
  std::size_t made_since_ = 0;          // in memory that nothing was in
  std::size_t enough_free_ = SIZE_MAX;  // with so many free places memory is given back
  std::vector<MessageRequest*> free_;
  std::vector<std::byte> front_;
};

}  // namespace unisono::runtime
