// SPDX-License-Identifier: BSD-3-Clause
// The tree of switches between machines, as a user describes it (S6): "tree:4x8", or a file in the format of
// Slurm's topology.conf. docs/guide/topology.md has both.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono::patterns {

inline constexpr std::size_t most_topology_bytes = std::size_t{8} << 20;  // of a file

struct SwitchTree {
  std::vector<std::string> names;
  std::vector<int> above;    // switch -> the one that it hangs on; -1: the topmost
  std::string why_unusable;  // there is a description, but not of this job; empty: it may be gone by
};

struct Machine {
  std::string name;   // empty in a synthetic topology
  int switch_of = 0;  // that it hangs on
};

struct Topology {
  SwitchTree switches;
  std::vector<Machine> machines;

  bool has_names() const { return !machines.empty() && !machines.front().name.empty(); }
};

// `problem` says what is wrong, where, and what to write instead; empty: there is a topology.
struct ReadTopology {
  std::optional<Topology> topology;
  std::string problem;
};

// "tree:16" is one switch with 16 machines, "tree:4x8" 4 of them below another one, "tree:2x4x8" two such
// trees below one more; "tree:3,5,8" has switches with 3, 5 and 8 machines.
bool is_synthetic(std::string_view text);
ReadTopology synthetic_topology(std::string_view text);
// Lines "SwitchName=s0 Nodes=node[00-15]" and "SwitchName=top Switches=s[0-3]". `file` names it in problems.
ReadTopology topology_from_lines(std::string_view lines, std::string_view file);

// "node[08-10,17],login" -> node08, node09, node10, node17, login. Nothing where it is no such list.
std::optional<std::vector<std::string>> expand_names(std::string_view list);

// On which switch each of a job's machines hangs. Those with names are looked up, also by what stands before
// the first dot; without names the job's are the topology's, in order, and must be as many.
struct Placement {
  std::vector<int> switch_of;
  std::string problem;  // empty: all have a place
};
Placement place(const Topology& topology, const std::vector<std::string>& machines);

}  // namespace unisono::patterns
