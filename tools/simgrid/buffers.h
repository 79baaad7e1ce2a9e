// SPDX-License-Identifier: BSD-3-Clause
// What a rank brings to a collective call, and what it gets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/operations.h"

namespace unisono::simgrid {

// One call as one rank makes it, of 64-bit integers and with rank 0 as root. Uneven blocks are equally long.
struct Call {
  Operation operation = Operation::barrier;
  std::int64_t elements = 0;  // of the vector, or of a block
  int rank = 0, size = 1;
  static constexpr int root = 0;

  bool is_at_root() const { return rank == root; }
  std::int64_t input_elements() const;
  std::int64_t output_elements() const;
};

// A rank's own memory; or, where all ranks together would take too much, memory that all ranks use. Then
// times are right, and results are not.
class Buffers {
 public:
  explicit Buffers(const Call& call);
  // Filled anew: what this rank brings, and an output of zeros.
  void fill();
  std::int64_t* input() { return input_->data(); }
  std::int64_t* output() { return output_->data(); }
  bool are_shared() const { return input_ == &shared_input; }
  // A number that follows from this rank's result and its place there.
  std::uint64_t sum() const;

 private:
  static std::vector<std::int64_t> shared_input, shared_output;
  Call call_;
  std::vector<std::int64_t> own_input_, own_output_;
  std::vector<std::int64_t>*input_, *output_;
};

}  // namespace unisono::simgrid
