// SPDX-License-Identifier: BSD-3-Clause
// One call that is made twice, by Unisono and by the host (B9): the program's memory before it, Unisono's
// result, the host's. The host's own call works on the program's memory as the program gave it, so that
// nothing of its arguments has to be imitated. For that Unisono's result is put aside, and what the call
// found there is put back.
#pragma once

#include <cstdint>
#include <vector>

#include "host/host.h"
#include "runtime/call/call.h"
#include "runtime/packing/blocks.h"
#include "runtime/packing/neighborhood_state.h"

namespace unisono::runtime {

class Verification {
 public:
  // `neighborhood`: of calls of neighbours; null elsewhere.
  Verification(host::Host& host, const Call& call, int rank, int size,
               const NeighborhoodState* neighborhood = nullptr);

  // Before Unisono's call; after it; after the host's. False where the memory could not be read or written:
  // then this rank has no opinion.
  void save();
  void keep_own();
  void take_own(std::vector<char>* packed) { own_.swap(*packed); }
  void read_hosts();
  // Unisono's result into the program's memory again.
  void put_own_back();
  bool has_opinion() const { return error_ == host::success; }

  // The first byte of the packed results that differs, doubtful blocks aside; -1: none does.
  std::int64_t first_difference() const;
  // Where several edges lead from one rank to another, most MPIs put some blocks into the wrong place
  // (docs/inside/testing.md): such blocks say nothing. Does one of them differ?
  bool do_doubtful_blocks_differ() const;
  const std::vector<char>& own() const { return own_; }
  const std::vector<char>& hosts() const { return hosts_; }
  // What this rank gave to the call, packed.
  const std::vector<char>& input();

  int own_error = host::success;  // what Unisono's call came back with

 private:
  void keep(int error) {
    if (error_ == host::success) error_ = error;
  }
  void read_side(BlockSide* side, const BlockArguments& arguments);
  void read_neighbors(const Call& call, const NeighborhoodState& neighborhood, int rank);
  bool is_doubtful(std::size_t byte) const;

  host::Host& host_;
  int size_;
  int error_ = host::success;
  // In place a scattered reduction finds its input in more of the output than it writes to.
  BlockSide output_, input_, input_in_output_;
  bool is_input_in_output_ = false;  // somewhere in the output, that is
  bool has_more_input_ = false;
  std::vector<char> before_, more_before_, own_, hosts_, given_;
  bool is_input_read_ = false;
  // Packed results: where blocks from neighbours with several edges begin and end.
  struct Range {
    std::size_t first = 0, last = 0;
  };
  std::vector<Range> doubtful_;
};

}  // namespace unisono::runtime
