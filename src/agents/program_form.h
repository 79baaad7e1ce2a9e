// SPDX-License-Identifier: BSD-3-Clause
// Programs as bytes. Ranks write the program of their node, and its agent runs it. Of such a program a node
// is one rank: it has messages and local work on whole vectors, and knows no shared memory. A reader takes
// nothing for granted: bytes that nobody has written give no program, and what it gives touches no memory
// beyond the operation's own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schedule/program.h"

namespace unisono::agents {

struct ReadProgram {
  schedule::Problem problem;
  schedule::Program program;
};

// What agents see of a communicator: each node as one rank.
std::shared_ptr<const patterns::Layout> layout_between(int nodes);

// Nothing where a program cannot be told so: it uses shared memory, or moves blocks.
std::optional<std::string> write_program(const schedule::Problem& problem, const schedule::Program& program);
// Of a problem of so many ranks, as one of them has it.
std::optional<ReadProgram> read_program(std::string_view bytes, int size, int rank);

}  // namespace unisono::agents
