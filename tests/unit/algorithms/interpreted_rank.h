// SPDX-License-Identifier: BSD-3-Clause
// What the interpreter knows of each rank, of messages on their way, and of a node's channels.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "promise.h"
#include "schedule/program.h"
#include "schedule/ranges.h"

namespace unisono::algorithms::testing {

inline constexpr std::int64_t element_bytes = 8;

struct Action {
  int stage;
  int round;
  std::int64_t piece;
  std::int64_t pieces;
  schedule::Step step;
  bool ends_piece;  // of a stage with a channel: the flag goes to the piece's end
};

struct Message {
  int from;
  int to;
  int stage;
  int round;
  std::int64_t piece;
  schedule::ElementRange range;
  schedule::Place place;
};

struct Channel {
  std::vector<std::pair<std::int64_t, Value>> cells;  // by owner, slot, lane, offset: (piece, value)
  std::vector<std::int64_t> flag;                     // of each local rank
};

struct Rank {
  schedule::Problem problem;
  schedule::Program program;
  std::vector<Action> actions;
  std::size_t next = 0;
  std::vector<const Action*> posted;  // receives under way
  std::array<Values, 3> memory;       // input, output, scratch
  std::vector<std::int64_t> starts;   // of uneven blocks
  std::int64_t slot_elements = 1;     // of neighbours: the longest of the node's slots
  std::int64_t longest = 0;           // of neighbours: the longest piece that goes through a slot by itself
  std::int64_t space_for = -1;        // piece that await_space was last asked for
  int fused = 0;                      // fused operations so far
};

}  // namespace unisono::algorithms::testing
