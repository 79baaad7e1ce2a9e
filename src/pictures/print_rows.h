// SPDX-License-Identifier: BSD-3-Clause
// What all diagrams have in common: the rows (a round of a stage each), the steps in them with their virtual
// time, and the words for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pictures/print.h"

namespace unisono::pictures {

// What a diagram tells apart. put and get (A1) are copies into the node's shared memory and out of it.
enum class Look : std::uint8_t { send, recv, reduce, copy, put, get, flag, fused };

struct DrawnStep {
  int rank = 0;
  schedule::Step step{};
  // Virtual time within the row: a message leaves at `start` and arrives at the receiver's `end`; a local
  // step takes one unit. A step starts when the steps of its rank and row that it depends on are done.
  int start = 0;
  int end = 1;
  int partner = -1;  // messages: the other half, an index into the row's steps
};

struct DrawnRow {
  int stage = 0;
  int round = 0;
  std::vector<DrawnStep> steps;  // by rank, in the order written
  int duration() const;
};

// Rows in which no rank has a step are left out.
std::vector<DrawnRow> rows_of(const Picture& picture);

Look look_of(const schedule::Step& step);
bool is_token(const Picture& picture, const DrawnStep& drawn);
// "rank 3: send input block 2 to 5".
std::string long_words(const Picture& picture, const DrawnStep& drawn);
// What fits into a cell, with ranks of the communicator: "→3", "←0", "⊕", "get 0", "await all".
std::string short_words(const Picture& picture, const DrawnStep& drawn);

// "allreduce, recursive_doubling: 8 ranks on 1 node"; "Parameters: segment 0 bytes"; of a stage what it is
// cut into and which shared memory it uses, if any.
std::string title_of(const Picture& picture);
std::string parameters_of(const Picture& picture);
std::string stage_words(const Picture& picture, int stage);
// Lines of at most `width` characters, broken between words.
std::vector<std::string> wrapped(std::string_view text, int width);
// Columns that UTF-8 text takes in a terminal.
int columns_of(std::string_view text);

}  // namespace unisono::pictures
