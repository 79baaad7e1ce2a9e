// SPDX-License-Identifier: BSD-3-Clause
// Symbolic data: what each rank has before an operation, and what it must have after it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "interpreter.h"

namespace unisono::algorithms::testing {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One element: which one it is, and which ranks' operands are joined in it (a bit for each).
struct Value {
  std::int64_t id = -1;
  std::uint64_t ranks = 0;
  bool operator==(const Value&) const = default;
};
using Values = std::vector<Value>;

// left op right; a fault where these are not to be joined, or not in this order.
Value joined(const Value& left, const Value& right, bool is_commutative);

class Promise {
 public:
  explicit Promise(const Case& tested);

  bool is_in_place(int rank) const;
  // Input and output before the operation; elements without a value are not significant.
  std::pair<Values, Values> before(int rank) const;
  // Output after it, where it is significant.
  std::optional<Values> after(int rank) const;
  // Of neighbours: where a block of the rank's own begins in its input, or output.
  std::int64_t block_of_neighbor(int rank, const schedule::NumberedBlock& block,
                                 const schedule::BlockLimits& limits) const;

 private:
  Operation operation() const { return case_.descriptor->operation; }
  std::pair<Values, Values> blocks_before(int rank) const;
  std::optional<Values> blocks_after(int rank) const;
  // Of neighbours, by the lists that the program gave to MPI.
  std::pair<Values, Values> neighbors_before(int rank) const;
  Values neighbors_after(int rank) const;
  void append_sent(Values* values, int rank, int block) const;
  // What `from` sends to `to`; in gathers there is only one such block.
  void append_block(Values* values, int from, int to) const;
  std::pair<int, int> units(int rank) const;  // of input and of output
  Value contribution(int rank, std::int64_t unit, std::int64_t element) const;
  Value result(int rank, std::int64_t at) const;

  const Case& case_;
  int size_;
};

}  // namespace unisono::algorithms::testing
