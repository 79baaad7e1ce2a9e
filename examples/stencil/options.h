// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "box.h"

namespace stencil {

// Who neighbours are: those across the faces of a block, in a Cartesian topology, or all around it, in a
// graph.
enum class Topology { cartesian, graph };
enum class Operation { allgather, allgatherv, alltoall, alltoallv, alltoallw };
enum class Call { blocking, nonblocking, persistent };

template <typename Value>
struct Named {
  Value value;
  std::string_view name;
  std::string_view about;
};

const std::vector<Named<Topology>>& topologies();
const std::vector<Named<Operation>>& operations();
const std::vector<Named<Call>>& calls();

template <typename Value>
std::string_view name_of(const std::vector<Named<Value>>& all, Value value) {
  for (const auto& one : all) {
    if (one.value == value) return one.name;
  }
  return "";
}

struct Options {
  int dimensions = 2;
  Vector grid{};  // processes along each dimension; 0: as square as it gets
  bool is_grid_given = false;
  int cells = 8;  // along each side of a block
  int radius = 1;
  int steps = 20;
  bool is_periodic = false;
  std::vector<Topology> topologies{Topology::graph};
  std::vector<Operation> operations{Operation::alltoallw};
  std::vector<Call> calls{Call::blocking};
  bool is_quiet = false;
  bool is_help_wanted = false;
  std::string json_path;
};

std::string help_text();

// Throws std::invalid_argument with a sentence that says what is wrong.
Options parse_options(int argument_count, char** arguments);

}  // namespace stencil
