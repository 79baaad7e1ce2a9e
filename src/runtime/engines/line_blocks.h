// SPDX-License-Identifier: BSD-3-Clause
// Uneven blocks of one call through the lines, streams and single copies of a node's slice.
#pragma once

#include <cstdint>
#include <vector>

#include "base/short_copy.h"
#include "runtime/call/call_memory.h"
#include "schedule/executor.h"
#include "schedule/ranges.h"
#include "shm/slice/slice.h"

namespace unisono::runtime {

// A fused call on blocks, as one rank sees it.
struct Exchange {
  Operation operation;
  int rank, size, root;
  bool is_in_place;
  int places, lines;          // of a block in shared memory
  std::size_t most_streamed;  // the longest block that goes through a stream; 0: none does
  bool has_single_copy;

  bool is_root() const { return rank == root; }
  bool sends_one() const { return sends_own_block(operation); }
  bool gets_one() const { return gets_own_block(operation); }
  // The first block's number among those that this rank gets.
  int first_got() const { return gets_one() ? rank : is_uneven_alltoall(operation) ? size : 0; }
};

// The blocks of a side by the rank at the other end: in the program's memory, of one datatype without gaps.
class BlocksInMemory {
 public:
  BlocksInMemory(const BlockArguments& blocks, std::size_t element_bytes)
      : blocks_(blocks), element_bytes_(element_bytes) {}
  std::size_t bytes(int peer) const { return blocks_.count_of(peer) * element_bytes_; }
  char* at(int peer) const {
    auto* begin = static_cast<char*>(blocks_.buffer);
    return begin + offset_of(blocks_, peer, element_bytes_);
  }

 private:
  const BlockArguments& blocks_;
  std::size_t element_bytes_;
};

// The same where a schedule would find them: by their numbers, `first` is the side's first one.
class BlocksOfData {
 public:
  BlocksOfData(const schedule::Data& data, const void* begin, const std::int64_t* places, int first,
               bool is_one)
      : begin_(static_cast<const char*>(begin)),
        starts_(data.lengths.starts),
        places_(places),
        first_(first),
        is_one_(is_one) {}
  std::size_t bytes(int peer) const {
    return static_cast<std::size_t>(starts_[number(peer) + 1] - starts_[number(peer)]);
  }
  char* at(int peer) const {
    const std::int64_t offset =
        places_ != nullptr ? places_[number(peer) - first_] : starts_[number(peer)] - starts_[first_];
    return const_cast<char*>(begin_) + offset;
  }

 private:
  std::int64_t number(int peer) const { return is_one_ ? first_ : first_ + peer; }

  const char* begin_;
  const std::int64_t* starts_;
  const std::int64_t* places_;
  std::int64_t first_;
  bool is_one_;
};

// One call's blocks through the lines: short ones in them, long ones by single copy, where the kernel allows
// it and a block has one reader. Whoever writes a block and whoever reads it know how long it is, so that
// both take it for short or both for long.
template <class Blocks>
class LineBlocks {
 public:
  // `refused`: takes the numbers of blocks that the kernel copies not, of which both sides hear.
  LineBlocks(shm::Slice& slice, const Exchange& exchange, const Blocks& sent, const Blocks& got,
             std::vector<std::int64_t>* refused)
      : slice_(slice),
        exchange_(exchange),
        sent_(sent),
        got_(got),
        refused_(*refused),
        most_bytes_(shm::Slice::most_block_bytes(exchange.lines)) {}

  // True where blocks are left: the refused ones, or all long ones where nothing is copied by the kernel.
  bool run() {
    refused_.clear();
    slice_.begin_blocks(exchange_.places, exchange_.lines);
    switch (exchange_.operation) {
      case Operation::gatherv:
        gather();
        break;
      case Operation::scatterv:
        scatter();
        break;
      case Operation::allgatherv:
        allgather();
        break;
      default:
        alltoall();
    }
    slice_.end_blocks();
    return has_left_ || !refused_.empty();
  }

 private:
  // How a block goes: a matter of its length and of what the set-up agreed on, so that both sides say alike.
  enum class Way : std::uint8_t { nothing, lines, stream, kernel, message };
  Way way_of(std::size_t bytes) const {
    if (bytes == 0) return Way::nothing;
    if (bytes <= most_bytes_) return Way::lines;
    if (bytes <= exchange_.most_streamed) return Way::stream;
    return exchange_.has_single_copy ? Way::kernel : Way::message;
  }
  void put(int peer, int place, int column) {
    const std::size_t bytes = sent_.bytes(peer);
    switch (way_of(bytes)) {
      case Way::nothing:
        return;
      case Way::lines:
        return slice_.put_block(sent_.at(peer), bytes, place, column);
      case Way::stream:
        return slice_.send_stream(sent_.at(peer), bytes, peer);
      case Way::kernel:
        return slice_.offer_block(sent_.at(peer), place, column);
      case Way::message:
        has_left_ = true;
    }
  }
  // All streams are served before anything else is waited for.
  void get_stream(int peer) {
    const std::size_t bytes = got_.bytes(peer);
    if (way_of(bytes) == Way::stream) slice_.get_stream(got_.at(peer), bytes, peer);
  }
  void get(int peer, int place, int column) {
    const std::size_t bytes = got_.bytes(peer);
    switch (way_of(bytes)) {
      case Way::nothing:
      case Way::stream:
        return;
      case Way::lines:
        return slice_.get_block(got_.at(peer), bytes, place, column);
      case Way::kernel:
        if (!slice_.take_block(got_.at(peer), bytes, peer, place, column))
          refused_.push_back(exchange_.first_got() + (exchange_.gets_one() ? 0 : peer));
        return;
      case Way::message:
        has_left_ = true;
    }
  }
  void finish(int peer, int place, int column) {
    if (way_of(sent_.bytes(peer)) != Way::kernel) return;
    if (!slice_.await_taken(place, column)) refused_.push_back(exchange_.sends_one() ? exchange_.rank : peer);
  }
  void copy_own() {
    if (exchange_.is_in_place) return;
    copy_bytes(got_.at(exchange_.rank), sent_.at(exchange_.rank), got_.bytes(exchange_.rank));
  }
  template <class Do>
  void for_others(Do what) {
    for (int distance = 1; distance < exchange_.size; ++distance) {
      const int peer = exchange_.rank + distance;
      what(peer < exchange_.size ? peer : peer - exchange_.size);
    }
  }

  void gather() {
    if (exchange_.is_root()) {
      copy_own();
      for_others([this](int peer) { get_stream(peer); });
      slice_.run_streams();
      for_others([this](int peer) { get(peer, 0, peer); });
    } else {
      put(exchange_.root, 0, exchange_.rank);
      slice_.run_streams();
      finish(exchange_.root, 0, exchange_.rank);
    }
  }
  void scatter() {
    if (exchange_.is_root()) {
      for_others([this](int peer) { put(peer, 0, peer); });
      copy_own();
      slice_.run_streams();
      for_others([this](int peer) { finish(peer, 0, peer); });
    } else {
      get_stream(exchange_.root);
      slice_.run_streams();
      get(exchange_.root, 0, exchange_.rank);
    }
  }
  void allgather() {
    const int rank = exchange_.rank;
    const Blocks& own = exchange_.is_in_place ? got_ : sent_;
    const std::size_t bytes = own.bytes(rank);
    if (way_of(bytes) == Way::lines) {
      slice_.put_block(own.at(rank), bytes, 0, rank);
    } else if (bytes != 0) {
      has_left_ = true;
    }
    copy_own();
    for_others([this](int peer) { get(peer, 0, peer); });
  }
  void alltoall() {
    for_others([this](int peer) { put(peer, peer, exchange_.rank); });
    copy_own();
    for_others([this](int peer) { get_stream(peer); });
    slice_.run_streams();
    for_others([this](int peer) { get(peer, exchange_.rank, peer); });
    for_others([this](int peer) { finish(peer, peer, exchange_.rank); });
  }

  shm::Slice& slice_;
  const Exchange& exchange_;
  const Blocks& sent_;
  const Blocks& got_;
  std::vector<std::int64_t>& refused_;
  std::size_t most_bytes_;
  bool has_left_ = false;
};

}  // namespace unisono::runtime
