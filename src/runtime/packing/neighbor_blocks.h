// SPDX-License-Identifier: BSD-3-Clause
// Calls of neighbours: from MPI's counts and displacements to where a schedule finds its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/packing/blocks.h"
#include "schedule/block_table.h"

namespace unisono::runtime {

struct NeighborhoodState;

// A call's blocks on one rank, in bytes. Kept between calls.
class NeighborBlocks {
 public:
  // Reads what the call says. On an error of the host *error is set, and the call is the host's.
  void read(host::Host& host, const Call& call, const NeighborhoodState& neighborhood, int* error);

  // What a schedule works on, but for the lengths.
  int prepare(host::Host& host, const schedule::Compiled& compiled, schedule::Data* data,
              std::vector<char>* packed_input, std::vector<char>* packed_output, bool is_apart);
  // The row of this rank among what the ranks of its node tell each other; how many numbers a row has.
  std::int64_t tell(const schedule::Compiled& compiled, int local_rank, int local_size,
                    std::vector<std::int64_t>* told) const;
  // What follows from all rows.
  void learn(const schedule::BlockLimits& limits, const std::vector<std::int64_t>& told,
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
  BlockSide input_, output_;
  const schedule::BlockTable* table_ = nullptr;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> places_;  // by number; those of other ranks' blocks mean nothing
  bool is_output_packed_ = false;
  bool is_apart_ = false;
};

}  // namespace unisono::runtime
