// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <charconv>
#include <stdexcept>

namespace stencil {
namespace {

int parse_number(std::string_view name, std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    throw std::invalid_argument(std::string(name) + ": '" + std::string(text) + "' is no number from 1 to " +
                                std::to_string(most));
  }
  return value;
}

template <typename Value>
void parse_names(std::vector<Value>& chosen, const std::vector<Named<Value>>& all, std::string_view option,
                 std::string_view name) {
  chosen.clear();
  std::string names;
  for (const auto& one : all) {
    if (name == one.name || name == "all") chosen.push_back(one.value);
    names += std::string(one.name) + ", ";
  }
  if (chosen.empty()) {
    throw std::invalid_argument(std::string(option) + ": '" + std::string(name) + "' is none of " + names +
                                "all");
  }
}

template <typename Value>
std::string lines_of(const std::vector<Named<Value>>& all) {
  std::string text;
  for (const auto& one : all) {
    std::string name(one.name);
    name.resize(14, ' ');
    text += "    " + name + std::string(one.about) + "\n";
  }
  return text;
}

void parse_grid(Options& options, std::string_view text) {
  options.dimensions = 0;
  options.is_grid_given = true;
  for (;;) {
    const std::size_t cross = text.find('x');
    if (options.dimensions == most_dimensions) {
      throw std::invalid_argument("--grid: at most four dimensions");
    }
    options.grid[options.dimensions++] = parse_number("--grid", text.substr(0, cross), 1 << 15);
    if (cross == std::string_view::npos) return;
    text.remove_prefix(cross + 1);
  }
}

void choose_all(Options& options) {
  parse_names(options.topologies, topologies(), "--topology", "all");
  parse_names(options.operations, operations(), "--operation", "all");
  parse_names(options.calls, calls(), "--call", "all");
}

// Options that a value follows.
void parse_value(Options& options, std::string_view name, std::string_view value) {
  if (name == "--grid") {
    parse_grid(options, value);
  } else if (name == "--dimensions") {
    options.dimensions = parse_number(name, value, most_dimensions);
  } else if (name == "--cells") {
    options.cells = parse_number(name, value, 1 << 12);
  } else if (name == "--radius") {
    options.radius = parse_number(name, value, 16);
  } else if (name == "--steps") {
    options.steps = parse_number(name, value, 1 << 24);
  } else if (name == "--topology") {
    parse_names(options.topologies, topologies(), name, value);
  } else if (name == "--operation") {
    parse_names(options.operations, operations(), name, value);
  } else if (name == "--call") {
    parse_names(options.calls, calls(), name, value);
  } else if (name == "--json") {
    options.json_path = value;
  } else {
    throw std::invalid_argument("unknown option '" + std::string(name) + "'; --help names them all");
  }
}

void check(const Options& options) {
  double cells = 1.0;
  for (int d = 0; d < options.dimensions; ++d) cells *= options.cells + 2.0 * options.radius;
  if (cells > 1e8) throw std::invalid_argument("--cells: a block would have more than 100,000,000 cells");
  for (Topology topology : options.topologies) {
    if (topology == Topology::cartesian && options.radius > options.cells) {
      throw std::invalid_argument(
          "--radius: in the Cartesian topology a block sees only the next ones, so that --cells must be as "
          "large at least");
    }
  }
}

}  // namespace

const std::vector<Named<Topology>>& topologies() {
  static const std::vector<Named<Topology>> all = {
      {Topology::cartesian, "cartesian", "blocks across the faces; cells see along the axes (von Neumann)"},
      {Topology::graph, "graph", "blocks all around; cells see a square, a cube (Moore)"},
  };
  return all;
}

const std::vector<Named<Operation>>& operations() {
  static const std::vector<Named<Operation>> all = {
      {Operation::allgather, "allgather", "each block whole to every neighbour"},
      {Operation::allgatherv, "allgatherv", "the same, with lengths and places"},
      {Operation::alltoall, "alltoall", "the cells that are needed, filled up to one length"},
      {Operation::alltoallv, "alltoallv", "the cells that are needed, packed"},
      {Operation::alltoallw, "alltoallw", "the cells that are needed, by types that MPI packs itself"},
  };
  return all;
}

const std::vector<Named<Call>>& calls() {
  static const std::vector<Named<Call>> all = {
      {Call::blocking, "blocking", "MPI_Neighbor_*"},
      {Call::nonblocking, "nonblocking", "MPI_Ineighbor_*; what needs no other block is computed meanwhile"},
      {Call::persistent, "persistent", "MPI_Neighbor_*_init, the same way (MPI 4)"},
  };
  return all;
}

std::string help_text() {
  return "usage: stencil [options]        (under mpirun)\n"
         "\n"
         "Smooths a field on a grid of up to four dimensions. Each process has a block of cells, and gets "
         "from\n"
         "its neighbours in each step the cells that its own ones see. The result is compared with a\n"
         "computation by one process.\n"
         "\n"
         "  --topology NAME   neighbours, one of these or all (graph)\n" +
         lines_of(topologies()) + "  --operation NAME  how cells get there, one or all (alltoallw)\n" +
         lines_of(operations()) + "  --call NAME       one or all (blocking)\n" + lines_of(calls()) +
         "  --all             all topologies, operations and calls\n"
         "  --dimensions N    from 1 to 4 (2)\n"
         "  --grid AxB...     processes along each dimension (as square as it gets)\n"
         "  --cells N         along each side of a block (8)\n"
         "  --radius N        how far cells see (1)\n"
         "  --steps N         (20)\n"
         "  --periodic        what leaves the grid on one side enters it on the other\n"
         "  --json FILE       also write the results for programs to read\n"
         "  --quiet           print only what is wrong\n"
         "  --help            this text\n"
         "\n"
         "exit code: 0 all results are right, 1 one is wrong, 2 wrong usage\n";
}

Options parse_options(int argument_count, char** arguments) {
  Options options;
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      options.is_help_wanted = true;
    } else if (name == "--quiet") {
      options.is_quiet = true;
    } else if (name == "--periodic") {
      options.is_periodic = true;
    } else if (name == "--all") {
      choose_all(options);
    } else if (i + 1 < argument_count) {
      parse_value(options, name, arguments[++i]);
    } else {
      throw std::invalid_argument(std::string(name) + ": unknown, or a value must follow; --help names all");
    }
  }
  check(options);
  return options;
}

}  // namespace stencil
