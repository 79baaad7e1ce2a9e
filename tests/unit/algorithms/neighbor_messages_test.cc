// SPDX-License-Identifier: BSD-3-Clause
// Algorithms for neighbours send the messages that `unisono graph` counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/catalogue/descriptor.h"
#include "patterns/graphs.h"
#include "patterns/traffic.h"
#include "schedule/program.h"

namespace unisono::algorithms {
namespace {

using patterns::Combining;
using patterns::Layout;
using patterns::Neighborhood;
using patterns::Scope;
using schedule::Problem;
using schedule::Step;
using schedule::StepKind;

struct Graph {
  explicit Graph(const std::string& text, const std::string& nodes)
      : layout(std::make_shared<const Layout>(*Layout::parse(nodes))),
        all(std::make_shared<const Neighborhood>(*patterns::parse_graph(text, layout->size()))),
        destinations(destinations_of(*all)) {}

  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const Neighborhood> all;
  patterns::Destinations destinations;
};

// Of each rank: the messages that a stage of its program sends, or those to other nodes alone, those of one
// pair in one round as one.
std::vector<std::int64_t> sent(const Graph& graph, const char* name, Parameters parameters, std::size_t stage,
                               bool is_away = false) {
  const Descriptor& descriptor = *find(Operation::neighbor_allgather, name);
  parameters = with_standards(descriptor, parameters);
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < graph.layout->size(); ++rank) {
    const Problem problem{.operation = descriptor.operation,
                          .size = graph.layout->size(),
                          .rank = rank,
                          .layout = graph.layout,
                          .neighborhood = graph.all};
    const schedule::Program program = descriptor.build(problem, parameters);
    std::int64_t messages = 0;
    for (int round = 0; round < program.stages[stage].rounds; ++round) {
      std::vector<Step> steps;
      schedule::Writer writer(&steps);
      program.stages[stage].write(round, writer);
      std::set<int> peers;
      for (const Step& step : steps) {
        const auto node_of = [&](int other) {
          return graph.layout->node_of[static_cast<std::size_t>(other)];
        };
        if (step.kind == StepKind::send && !(is_away && node_of(step.peer) == node_of(rank)))
          peers.insert(step.peer);
      }
      messages += std::ssize(peers);
    }
    counts.push_back(messages);
  }
  return counts;
}

Parameters parameters(std::initializer_list<std::pair<const char*, std::int64_t>> values) {
  Parameters set;
  for (const auto& [name, value] : values) set.set(name, value);
  return set;
}

constexpr std::size_t short_stage = 0, long_stage = 1;

TEST(NeighborMessages, once_sends_each_long_block_once_to_each_node) {
  for (const char* text : {"moore:2,2", "random:0.3", "complete"}) {
    const Graph graph(text, "5x8");
    EXPECT_EQ(sent(graph, "once", {}, long_stage),
              once_traffic(graph.destinations, *graph.all, *graph.layout).sent_away())
        << text;
  }
}

TEST(NeighborMessages, a_mesh_sends_along_one_dimension_after_the_other) {
  for (const char* text : {"moore:2,1", "random:0.3", "complete"}) {
    const Graph graph(text, "36x1");
    const auto counted = [&](const patterns::VirtualMesh& mesh) {
      return mesh_traffic(graph.destinations, *graph.all, *graph.layout, mesh, patterns::MeshOf::ranks)
          .sent();
    };
    EXPECT_EQ(sent(graph, "mesh", parameters({{"dimensions", 2}}), short_stage), counted({{6, 6}, 36}))
        << text;
    EXPECT_EQ(sent(graph, "mesh", parameters({{"dimensions", 3}}), short_stage), counted({{4, 3, 3}, 36}))
        << text;
    EXPECT_EQ(sent(graph, "mesh", parameters({{"dimensions", 6}}), short_stage),
              counted(patterns::VirtualMesh::of_twos(36)))
        << text;
  }
}

TEST(NeighborMessages, a_mesh_of_nodes_sends_one_message_to_each_node_on_its_way) {
  for (const char* text : {"moore:2,1", "random:0.3", "complete"}) {
    const Graph graph(text, "16x3");
    const auto counted = [&](const patterns::VirtualMesh& mesh) {
      return mesh_traffic(graph.destinations, *graph.all, *graph.layout, mesh, patterns::MeshOf::nodes)
          .sent_away();
    };
    for (const int dimensions : {2, 4}) {
      const patterns::VirtualMesh mesh =
          dimensions == 2 ? patterns::VirtualMesh({4, 4}, 16) : patterns::VirtualMesh::of_twos(16);
      EXPECT_EQ(
          sent(graph, "mesh", parameters({{"dimensions", dimensions}, {"of_nodes", 1}}), short_stage, true),
          counted(mesh))
          << text;
    }
  }
}

TEST(NeighborMessages, a_mesh_whose_ranks_have_no_even_factors_has_empty_places) {
  const Graph graph("complete", "37x1");
  EXPECT_LE(std::ranges::max(sent(graph, "mesh", parameters({{"dimensions", 2}}), short_stage)), 2 * 7);
}

TEST(NeighborMessages, friends_send_what_algorithm_7_4_does) {
  for (const char* text : {"moore:2,2", "random:0.5", "complete"}) {
    const Graph graph(text, "5x8");
    for (const int members : {2, 4}) {
      for (const Scope scope : {Scope::node, Scope::all}) {
        const auto grouping = friend_groups(graph.destinations, *graph.layout,
                                            {.size = members, .scope = scope, .progress = nullptr});
        EXPECT_EQ(sent(graph, "friends", parameters({{"k", members}, {"scope", scope == Scope::all ? 1 : 0}}),
                       short_stage),
                  group_traffic(grouping, graph.destinations, *graph.layout, Combining::once).sent())
            << text << ", " << members;
      }
    }
    const auto pairs = friend_groups(
        graph.destinations, *graph.layout,
        {.size = 2, .scope = Scope::node, .combining = Combining::cumulative, .progress = nullptr});
    EXPECT_EQ(sent(graph, "friends", parameters({{"cumulative", 1}}), short_stage),
              group_traffic(pairs, graph.destinations, *graph.layout, Combining::cumulative).sent())
        << text;
  }
}

TEST(NeighborMessages, who_passes_blocks_on_needs_the_whole_graph) {
  const Graph graph("ring", "4x1");
  Problem problem{.operation = Operation::neighbor_allgather, .size = 4, .layout = graph.layout};
  const Descriptor& mesh = *find(Operation::neighbor_allgather, "mesh");
  problem.neighborhood = graph.all;
  EXPECT_EQ(why_illegal(mesh, problem, 8, true, true), "");
  problem.neighborhood = patterns::known_on_nodes(*graph.all, *graph.layout)[0];
  EXPECT_EQ(why_illegal(mesh, problem, 8, true, true),
            "needs the neighbours of all ranks, which are told where they are few");
}

}  // namespace
}  // namespace unisono::algorithms
