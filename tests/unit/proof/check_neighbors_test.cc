// SPDX-License-Identifier: BSD-3-Clause
// What the proof of algorithms for neighbours finds: who knows what nobody told, and blocks in wrong places.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "proof/check_algorithm.h"
#include "proof/check_graph.h"
#include "proof/check_graphs.h"

namespace unisono::proof {
namespace {

using schedule::BlockTable;
using schedule::Problem;
using schedule::Program;

testing::AssertionResult is_caught(const algorithms::Descriptor& descriptor, const std::string& words,
                                   int ranks = 4) {
  const auto failures =
      check(descriptor, {.ranks = {ranks}, .threads = 1, .random_graphs = 8, .progress = {}}).failures;
  if (failures.empty()) return testing::AssertionFailure() << "nothing was found";
  for (const CheckFailure& failure : failures) {
    if (failure.what.find(words) != std::string::npos) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "found something else: " << failures.front().what;
}

// The algorithm with all its programs changed.
template <class Change>
algorithms::Descriptor changed(Operation operation, const char* name, Change change) {
  algorithms::Descriptor descriptor = *algorithms::find(operation, name);
  descriptor.build = [build = descriptor.build, change](const Problem& problem,
                                                        const algorithms::Parameters& parameters) {
    Program program = build(problem, parameters);
    change(problem, &program);
    return program;
  };
  return descriptor;
}

void add_block(Program* program, std::int32_t told) {
  BlockTable table = *program->blocks;
  table.blocks.push_back({.told = told});
  program->blocks = std::make_shared<const BlockTable>(table);
}

TEST(CheckNeighbors, TheSoundAlgorithmsPass) {
  for (const algorithms::Descriptor& descriptor : algorithms::registry()) {
    if (!is_neighborhood(descriptor.operation)) continue;
    const CheckResult result =
        check(descriptor, {.ranks = {1, 2, 5, 8}, .threads = 1, .random_graphs = 8, .progress = {}});
    EXPECT_TRUE(result.failures.empty())
        << descriptor.name << ", " << result.failures.front().where << ": " << result.failures.front().what;
  }
}

TEST(CheckNeighbors, WhoAsksForTheNeighborsOfAnotherNodeIsCaught) {
  for (const char* name : {"linear", "bundles"}) {
    const algorithms::Descriptor curious =
        changed(Operation::neighbor_allgather, name, [](const Problem& problem, Program*) {
          for (int rank = 0; rank < problem.size; ++rank) static_cast<void>(problem.neighborhood->of(rank));
        });
    EXPECT_TRUE(is_caught(curious, "nobody here knows the neighbours of rank")) << name;
  }
}

TEST(CheckNeighbors, ALengthThatNobodyTellsIsCaught) {
  const algorithms::Descriptor unknown =
      changed(Operation::neighbor_alltoallv, "bundles", [](const Problem&, Program* p) {
        const auto rows = static_cast<std::int32_t>(p->blocks->slots.size());
        add_block(p, p->blocks->told_by_rank * rows);
      });
  EXPECT_TRUE(is_caught(unknown, "has a length that no rank of the node tells"));
  // Where there is no header, a rank knows its own lengths alone.
  const algorithms::Descriptor of_another =
      changed(Operation::neighbor_alltoall, "linear", [](const Problem& problem, Program* p) {
        const int locals = problem.layout->local_size(problem.rank);
        const int next = (problem.layout->local_rank_of[problem.rank] + 1) % locals;
        add_block(p, p->blocks->told_out(next, 0));
      });
  EXPECT_TRUE(is_caught(of_another, "deals in a block whose length it does not know"));
}

TEST(CheckNeighbors, AHeaderThatTellsNothingIsCaught) {
  algorithms::Descriptor silent = *algorithms::find(Operation::neighbor_allgatherv, "bundles");
  silent.build_header = [](const Problem&, const algorithms::Parameters&) { return Program{}; };
  EXPECT_TRUE(is_caught(silent, "the header: rank"));
}

TEST(CheckNeighbors, APieceThatNobodyPassesOnIsCaught) {
  const algorithms::Descriptor lazy =
      changed(Operation::neighbor_allgather, "once", [](const Problem&, Program* p) {
        constexpr std::size_t stages_without_waves = 2;
        if (p->stages.size() > stages_without_waves) p->stages.pop_back();
      });
  EXPECT_TRUE(is_caught(lazy, ", wanted element "));
}

TEST(CheckNeighbors, ABlockThatIsLeftInItsCellIsCaught) {
  for (const char* name : {"mesh", "friends"}) {
    const algorithms::Descriptor forgetful = changed(
        Operation::neighbor_allgather, name, [](const Problem&, Program* p) { --p->stages[0].rounds; });
    EXPECT_TRUE(is_caught(forgetful, ", wanted element ")) << name;
  }
}

// Nodes with short blocks alone.
TEST(CheckNeighbors, AStageThatIsLeftOutButNeededIsCaught) {
  for (const char* name : {"bundles", "once", "mesh"}) {
    const algorithms::Descriptor short_of_all = changed(
        Operation::neighbor_allgather, name, [](const Problem&, Program* p) { p->stages_of_short = 0; });
    EXPECT_TRUE(is_caught(short_of_all, ", wanted element ")) << name;
  }
}

// The k-th edge of a pair for the last but k: nobody waits, and every length is right.
TEST(CheckNeighbors, BlocksOfDoubleEdgesInTheWrongOrderAreCaught) {
  for (const char* name : {"linear", "bundles", "shared"}) {
    algorithms::Descriptor turned = *algorithms::find(Operation::neighbor_alltoall, name);
    turned.build = [build = turned.build](const Problem& problem, const algorithms::Parameters& parameters) {
      Problem other = problem;
      auto graph = std::make_shared<patterns::Neighborhood>(problem.size);
      for (int rank = 0; rank < problem.size; ++rank) {
        if (!problem.neighborhood->knows(rank)) continue;
        patterns::Neighbors own = problem.neighborhood->of(rank);
        for (patterns::Neighbor& from : own.in) {
          const auto edges =
              std::ranges::count(problem.neighborhood->of(rank).in, from.rank, &patterns::Neighbor::rank);
          from.edge = static_cast<int>(edges) - 1 - from.edge;
        }
        graph->set(rank, own);
      }
      other.neighborhood = graph;
      return build(other, parameters);
    };
    EXPECT_TRUE(is_caught(turned, ", wanted element ")) << name;
  }
}

TEST(CheckNeighbors, BothEndsOfAnEdgeSayTheSameLength) {
  for (int number = 0; number < 300; ++number) {
    const int size = 1 + number % 12;
    const auto graph = random_multigraph(size, static_cast<std::uint32_t>(number)).graph;
    for (int operation = 0; operation < operation_count; ++operation) {
      Problem problem{.operation = static_cast<Operation>(operation), .size = size};
      if (!is_neighborhood(problem.operation)) continue;
      problem.layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(size));
      const CheckedGraph checked(problem, graph);
      for (int rank = 0; rank < size; ++rank) {
        for (int i = 0; i < checked.received_blocks(rank); ++i) {
          const CheckedGraph::Source from = checked.source(rank, i);
          for (const int pattern : {0, 1, 2, 3}) {
            const std::int64_t length = checked.received(rank, i, 7, pattern);
            EXPECT_LE(length, 7);
            if (from.rank == patterns::no_neighbor) continue;
            EXPECT_EQ(length, checked.sent(from.rank, from.block, 7, pattern));
          }
        }
      }
    }
  }
}

TEST(CheckGraphs, HaveWhatTheirNamesSay) {
  std::set<std::string> names;
  for (const NamedGraph& graph : named_graphs(6)) {
    EXPECT_TRUE(names.insert(graph.name).second) << graph.name;
    std::uint64_t checksum = 0;
    for (int rank = 0; rank < 6; ++rank) checksum += graph.graph->checksum(rank);
    EXPECT_EQ(checksum, 0u) << graph.name;
  }
  for (const char* name :
       {"double edges", "two parts", "star in", "star out", "ring", "complete", "moore:2,1", "cart:6",
        "cart:6,periodic", "cart:3x2", "cart:3x2,periodic", "itself", "empty"})
    EXPECT_EQ(names.count(name), 1u) << name;
  EXPECT_EQ(digraph(2, 0b0110).graph->of(0).out, (std::vector<patterns::Neighbor>{{1, 0}}));
  EXPECT_EQ(digraph(2, 0b0001).graph->of(0).in, (std::vector<patterns::Neighbor>{{0, 0}}));
}

}  // namespace
}  // namespace unisono::proof
