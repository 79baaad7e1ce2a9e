// SPDX-License-Identifier: BSD-3-Clause
// What a call moves from rank to rank, and how much of it crosses the borders of nodes and of the domains
// inside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proof/check_program.h"

namespace unisono::proof {

// What goes from one part to another one, of all calls on all ranks together. A cache line that two ranks
// read counts twice. Data that a message, a slot or a line of shared memory carries counts where it is read.
struct Border {
  std::string name;        // "node", "numa", ... or "rank"
  int parts = 0;           // that it separates
  std::int64_t bytes = 0;  // data
  std::int64_t lines = 0;  // cache lines of data; of 64 bytes, or 56 with a flag beside them
  std::int64_t flags = 0;  // cache lines that hold flags alone
  // The least that any algorithm moves across it, where the operation is on one vector. That enters every
  // part once, and leaves every part once where all ranks' operands are joined.
  std::optional<std::int64_t> least_bytes = std::nullopt, least_lines = std::nullopt;
};

// The borders from outside to inside: nodes, the layout's domains, ranks. `bytes` of a vector or a block.
// Throws std::invalid_argument where blocks differ in length, and for operations of neighbours.
std::vector<Border> count_transfers(const CheckedCall& call, std::int64_t bytes);

}  // namespace unisono::proof
