// SPDX-License-Identifier: BSD-3-Clause
// Groups of ranks that send to the same ones. Members exchange their blocks, and each sends all of them to a
// part of the destinations that they share. C1-C3, C8; algorithms 7.1 to 7.4.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/neighborhood/relayed.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"
#include "patterns/grown_groups.h"

namespace unisono::algorithms {
namespace {

using patterns::Combining;
using patterns::Destinations;
using patterns::Group;
using patterns::Grouping;
using patterns::Hop;
using schedule::Problem;
using schedule::Program;

struct Setting {
  int members = 2;
  patterns::Scope scope = patterns::Scope::node;
  Combining combining = Combining::once;
  bool operator==(const Setting&) const = default;
};

// Every rank finds the same groups. Where all groups of that size are too many to look at, they are grown one
// friend after the other.
Grouping grouping_of(const Destinations& destinations, const patterns::Layout& layout,
                     const Setting& setting) {
  patterns::GroupOptions options{
      .size = setting.members, .scope = setting.scope, .combining = setting.combining, .progress = nullptr};
  options.most_bytes = std::size_t{64} << 20;
  options.most_steps = std::int64_t{1} << 26;
  Grouping grouping = friend_groups(destinations, layout, options);
  if (grouping.problem.empty() || setting.combining == Combining::cumulative) return grouping;
  return grown_groups(destinations, layout,
                      {.most_members = setting.members, .scope = setting.scope, .progress = nullptr});
}

// The blocks that ranks send in the name of others too.
class Payloads {
 public:
  explicit Payloads(const Destinations& destinations) : of_(destinations.size()) {
    for (int rank = 0; rank < std::ssize(destinations); ++rank) {
      for (const int to : destinations[static_cast<std::size_t>(rank)]) of(rank)[to] = {rank};
    }
  }
  std::map<int, std::vector<int>>& of(int rank) { return of_[static_cast<std::size_t>(rank)]; }
  // What `from` has for these is sent by `to` from now on: which blocks that takes, each once.
  std::vector<int> hand_over(int from, int to, const std::vector<int>& destinations) {
    std::vector<int> all;
    for (const int destination : destinations) {
      const std::vector<int> own = std::exchange(of(from)[destination], {});
      of(from).erase(destination);
      std::vector<int>& other = of(to)[destination];
      other.insert(other.end(), own.begin(), own.end());
      all.insert(all.end(), own.begin(), own.end());
    }
    std::ranges::sort(all);
    const auto rest = std::ranges::unique(all);
    all.erase(rest.begin(), rest.end());
    return all;
  }

 private:
  std::vector<std::map<int, std::vector<int>>> of_;
};

// All messages, phase by phase.
class Messages {
 public:
  Messages(const Destinations& destinations, const Grouping& grouping, Combining combining)
      : payloads_(combining == Combining::cumulative ? destinations : Destinations()) {
    const bool is_cumulative = combining == Combining::cumulative;
    for (const std::vector<Group>& groups : grouping.steps) {
      hops_.emplace_back();
      for (const Group& group : groups) is_cumulative ? hand_over(group) : exchange(group);
      if (is_cumulative) continue;
      hops_.emplace_back();
      for (const Group& group : groups) send_combined(group);
    }
    hops_.emplace_back();
    for (int rank = 0; rank < std::ssize(grouping.left); ++rank) {
      for (const int to : grouping.left[static_cast<std::size_t>(rank)])
        add(rank, to, is_cumulative ? payloads_.of(rank)[to] : std::vector<int>{rank});
    }
    for (std::vector<Hop>& of_phase : hops_) std::ranges::sort(of_phase);
  }

  Hops of(int rank) const {
    Hops own(hops_.size());
    for (std::size_t phase = 0; phase < hops_.size(); ++phase) {
      std::ranges::copy_if(hops_[phase], std::back_inserter(own[phase]),
                           [&](const Hop& hop) { return hop.from == rank || hop.to == rank; });
    }
    return own;
  }

 private:
  void add(int from, int to, const std::vector<int>& sources) {
    for (const int source : sources) {
      if (source != to) hops_.back().push_back({from, to, source});
    }
  }
  void exchange(const Group& group) {
    for (const int member : group.members) {
      for (const int other : group.members) {
        if (other != member) add(other, member, {other});
      }
    }
  }
  void send_combined(const Group& group) {
    for (int index = 0; index < std::ssize(group.members); ++index) {
      for (const int to : part_of(group, index))
        add(group.members[static_cast<std::size_t>(index)], to, group.members);
    }
  }
  void hand_over(const Group& group) {
    for (int index = 0; index < std::ssize(group.members); ++index) {
      const int member = group.members[static_cast<std::size_t>(index)];
      for (const int other : group.members) {
        if (other != member) add(other, member, payloads_.hand_over(other, member, part_of(group, index)));
      }
    }
  }

  Payloads payloads_;
  Hops hops_;
};

// Programs of many ranks on one graph follow each other in the model and in the checker.
std::shared_ptr<const Messages> messages_of(const Problem& problem, const Setting& setting) {
  struct Found {
    Destinations destinations;
    std::vector<std::vector<int>> nodes;
    Setting setting;
    std::shared_ptr<const Messages> messages;
  };
  thread_local Found last;
  Destinations destinations = destinations_of(*problem.neighborhood);
  const bool is_found = last.messages != nullptr && last.setting == setting &&
                        last.destinations == destinations && last.nodes == problem.layout->ranks_of;
  if (is_found) return last.messages;
  const Grouping grouping = grouping_of(destinations, *problem.layout, setting);
  const auto messages = std::make_shared<const Messages>(destinations, grouping, setting.combining);
  last = {std::move(destinations), problem.layout->ranks_of, setting, messages};
  return messages;
}

Program build(const Problem& problem, const Parameters& parameters) {
  Setting setting{.members = static_cast<int>(parameters.get("k"))};
  if (parameters.get("scope") == 1) setting.scope = patterns::Scope::all;
  if (parameters.get("cumulative") == 1) setting.combining = Combining::cumulative, setting.members = 2;
  return relayed(problem, messages_of(problem, setting)->of(problem.rank), parameters.get("cell"), true);
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::neighbor_allgather, Operation::neighbor_allgatherv}) {
    all.push_back(
        {.name = "friends",
         .operation = operation,
         .group = "relayed",
         .sentence =
             "Groups of ranks that send to the same ones exchange their short blocks, and each member sends "
             "all of them to a part of those; longer ones go straight.",
         .source = "C1-C3; C8; algorithms 7.1 to 7.4",
         .legality = {.needs_several_nodes = true, .needs_shared_memory = true, .needs_whole_graph = true},
         .parameters =
             {{"k", "", 2, 16, 2, "members of a group"},
              {"scope", "", 0, 1, 0, "0: groups of ranks of one node; 1: of any ranks"},
              {"cumulative", "", 0, 1, 0,
               "1: pairs, and what a rank sends for its friend takes part in the next pairs; 0: a block is "
               "combined once"},
              {"cell", "bytes", 0, 64 << 10, 512,
               "longest block that is combined, and room for each where its length is not known"}},
         .build = build,
         .build_header = fused_allgather,
         .build_header_aside = standard_shared_allgather});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
