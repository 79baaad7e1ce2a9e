// SPDX-License-Identifier: BSD-3-Clause
// Calls of neighbours: from MPI's counts and displacements to where a schedule finds its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/packing/blocks.h"
#include "schedule/block_table.h"

namespace unisono::runtime {

struct NeighborhoodState;

struct MemoryBlock {
  char* at = nullptr;
  std::size_t bytes = 0;
};

// A call's blocks on one rank, in bytes. Kept between calls.
class NeighborBlocks {
 public:
  // Reads what the call says. On an error of the host *error is set, and the call is the host's.
  void read(host::Host& host, const Call& call, const NeighborhoodState& neighborhood, int* error);

  std::int64_t longest() const;

  // Packs what is sent, and finds where each block is then. `is_apart`: nothing stays in the program's
  // memory.
  int find(host::Host& host, std::vector<char>* packed_input, std::vector<char>* packed_output,
           bool is_apart = false);
  // Block `i` of those that are sent, or got.
  MemoryBlock sent(std::int64_t i) const { return block(input_, input_begin_, input_places_, i); }
  MemoryBlock got(std::int64_t i) const { return block(output_, output_begin_, output_places_, i); }
  // What a schedule works on, but for the lengths.
  int prepare(host::Host& host, const schedule::Compiled& compiled, schedule::Data* data,
              std::vector<char>* packed_input, std::vector<char>* packed_output, bool is_apart);
  // The row of this rank among what the ranks of its node tell each other; how many numbers a row has.
  std::int64_t tell(const schedule::Compiled& compiled, int local_rank, int local_size,
                    std::vector<std::int64_t>* told) const;
  // What follows from all rows. True: no block of the node is longer than both limits.
  bool learn(const schedule::BlockLimits& limits, const std::vector<std::int64_t>& told,
             schedule::Data* data);
  int deliver(host::Host& host, const std::vector<char>& packed_output) const;

  bool has_packed_output() const { return is_output_packed_; }

  // Is it an address of the program's blocks? Asked by a handler of signals.
  bool holds(std::uintptr_t address) const { return input_.holds(address) || output_.holds(address); }
  UnevenMemory memory() const {
    return {.holds =
                [](const void* blocks, std::uintptr_t address) {
                  return static_cast<const NeighborBlocks*>(blocks)->holds(address);
                },
            .blocks = this};
  }

 private:
  static MemoryBlock block(const BlockSide& side, char* begin, const std::vector<std::int64_t>& places,
                           std::int64_t i) {
    return {begin + places[static_cast<std::size_t>(i)], static_cast<std::size_t>(side.length(i))};
  }

  BlockSide input_, output_;
  char* input_begin_ = nullptr;
  char* output_begin_ = nullptr;
  std::vector<std::int64_t> input_places_, output_places_;
  const schedule::BlockTable* table_ = nullptr;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> places_;  // by number; those of other ranks' blocks mean nothing
  bool is_output_packed_ = false;
  bool is_apart_ = false;
};

}  // namespace unisono::runtime
