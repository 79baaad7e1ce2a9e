// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of a node's ranks in one thread, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../shm/ranks.h"
#include "matching/catalogue.h"
#include "runtime/messages/endpoint.h"

namespace unisono::runtime {

inline EndpointOptions options_of(int ranks, const char* structure = "own") {
  EndpointOptions options;
  options.make_queues = [=] {
    return matching::make_queues(*matching::find(structure), {.ranks = ranks, .values = {}});
  };
  return options;
}

inline std::vector<int> all_of(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)] = rank;
  return all;
}

// Endpoints of a node's ranks in one thread: they progress when the test says so.
class Node {
 public:
  explicit Node(int ranks, EndpointOptions options, std::size_t arena_bytes = 256 << 10)
      : shape_{.ranks = ranks, .arena_bytes = arena_bytes}, memory_(shape_.bytes()) {
    mails_.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      mails_.emplace_back(memory_.get(), shape_, rank, shm::WaitPolicy::yield);
      ends_.push_back(std::make_unique<Endpoint>(&mails_.back(), options));
    }
  }
  Endpoint& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }
  void open(std::uint32_t context) {
    for (auto& end : ends_) end->open(context, all_of(shape_.ranks));
  }
  void progress(int rounds = 3) {
    for (int i = 0; i < rounds; ++i) {
      for (auto& end : ends_) end->progress();
    }
  }

 private:
  shm::MailboxShape shape_;
  shm::SharedMemory memory_;
  std::vector<shm::Mailbox> mails_;
  std::vector<std::unique_ptr<Endpoint>> ends_;
};

inline std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint32_t of) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(of * 37 + i + i / 253);
  return data;
}

}  // namespace unisono::runtime
