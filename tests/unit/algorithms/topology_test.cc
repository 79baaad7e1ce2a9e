// SPDX-License-Identifier: BSD-3-Clause
// Contention on the links between switches (S6). The checker judges algorithms that know the switches and
// algorithms that do not, on the source's topology (b), 32 machines on four switches.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "algorithms/catalogue/descriptor.h"
#include "proof/check_algorithm.h"
#include "proof/check_cases.h"
#include "proof/check_contention.h"

namespace unisono::algorithms {
namespace {

using proof::CheckedCall;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Step;
using schedule::Writer;

std::shared_ptr<const patterns::Layout> on_tree(const std::string& nodes, const std::string& tree) {
  const patterns::Topology topology = *patterns::synthetic_topology(tree).topology;
  patterns::Layout layout = *patterns::Layout::parse(nodes);
  layout.switches = std::make_shared<patterns::SwitchTree>(topology.switches);
  for (const patterns::Machine& machine : topology.machines) layout.switch_of.push_back(machine.switch_of);
  return std::make_shared<patterns::Layout>(layout);
}

CheckedCall call_of(const Descriptor& descriptor, const std::string& nodes, const std::string& tree) {
  Problem problem{.operation = descriptor.operation, .layout = on_tree(nodes, tree)};
  problem.size = problem.layout->size();
  std::vector<std::string> failures;
  const auto build = [&](const Problem& of_rank) {
    return descriptor.build(of_rank, with_standards(descriptor));
  };
  CheckedCall call = proof::spread_out(descriptor.name, problem, false, build, &failures);
  EXPECT_TRUE(failures.empty()) << failures.front();
  return call;
}

// The algorithm with every stage of every rank changed.
Descriptor changed(const Descriptor& from, const std::function<void(Stage*)>& change) {
  Descriptor descriptor = from;
  descriptor.build = [build = from.build, change](const Problem& problem, const Parameters& parameters) {
    Program program = build(problem, parameters);
    for (Stage& stage : program.stages) change(&stage);
    return program;
  };
  return descriptor;
}

void leave_out_tokens(Stage* stage) {
  stage->write = [write = stage->write](int round, Writer& writer) {
    std::vector<Step> steps;
    Writer inner(&steps);
    write(round, inner);
    for (const Step& step : steps) {
      const schedule::Ref& data = step.kind == schedule::StepKind::recv ? step.into : step.left;
      if (!schedule::is_message(step.kind) || data.first != data.last) writer.add(step);
    }
  };
}

bool is_caught(const Descriptor& descriptor, int ranks, const std::string& words) {
  const auto failures = proof::check(descriptor, {.ranks = {ranks}, .threads = 1, .progress = {}}).failures;
  return std::any_of(failures.begin(), failures.end(), [&](const proof::CheckFailure& failure) {
    return failure.what.find(words) != std::string::npos;
  });
}

TEST(Contention, IsFoundInExchangesThatDoNotKnowTheSwitches) {
  for (const char* name : {"ring", "ring_light_barrier", "ring_mpi_barrier", "pairwise", "simple"}) {
    const Descriptor* descriptor = find(Operation::alltoall, name);
    const proof::RoundsOnLinks links = rounds_on_links(call_of(*descriptor, "32x1", "tree:4x8"));
    EXPECT_GE(links.most_on_a_link, 8) << name;
    EXPECT_NE(links.first_conflict.find(" both take "), std::string::npos) << name;
  }
  // Two ranks on: those at the end of a switch both go up.
  EXPECT_EQ(rounds_on_links(call_of(*find(Operation::alltoall, "ring"), "32x1", "tree:4x8")).first_conflict,
            "stage 1, round 1: rank 6 -> rank 8 and rank 7 -> rank 9 both take switch s0 -> switch top");
  // On one switch, (a), a ring is free of it round by round; only nothing keeps the rounds apart.
  const CheckedCall on_one = call_of(*find(Operation::alltoall, "ring"), "16x1", "tree:16");
  EXPECT_EQ(rounds_on_links(on_one).most_on_a_link, 1);
  EXPECT_NE(conflict_over_time(on_one).find("may start before"), std::string::npos);
  const CheckedCall with_barriers =
      call_of(*find(Operation::alltoall, "ring_light_barrier"), "16x1", "tree:16");
  EXPECT_EQ(rounds_on_links(with_barriers).most_on_a_link, 1);
}

TEST(Contention, OfASeeminglyFreeAlgorithmIsAFailureOfTheCheck) {
  Descriptor ring = *find(Operation::alltoall, "ring");
  ring.legality.needs_topology = true;
  ring.is_free_of_contention = true;
  EXPECT_TRUE(is_caught(ring, 32,
                        "contention: stage 1, round 1: rank 6 -> rank 8 and rank 7 -> rank 9 both "
                        "take switch s0 -> switch top"));
}

TEST(Contention, NeedsTheTokensAndTheOrderOfPhases) {
  for (const char* name : {"topology_light_barrier", "topology_mpi_barrier"}) {
    const Descriptor& descriptor = *find(Operation::alltoall, name);
    for (const auto& [nodes, tree] :
         {std::pair{"16x1", "tree:16"}, {"32x1", "tree:4x8"}, {"8x2", "tree:3,5"}}) {
      const CheckedCall call = call_of(descriptor, nodes, tree);
      EXPECT_EQ(rounds_on_links(call).most_on_a_link, 1);
      EXPECT_EQ(conflict_over_time(call), "");
    }
    const CheckedCall loose = call_of(changed(descriptor, leave_out_tokens), "32x1", "tree:4x8");
    EXPECT_EQ(rounds_on_links(loose).most_on_a_link, 1);
    EXPECT_NE(conflict_over_time(loose).find("has arrived, both take"), std::string::npos) << name;
    EXPECT_TRUE(is_caught(changed(descriptor, leave_out_tokens), 32, "may start before")) << name;
  }
  const Descriptor hasty = changed(*find(Operation::alltoall, "topology_light_barrier"),
                                   [](Stage* stage) { stage->rounds_under_way = 0; });
  EXPECT_TRUE(is_caught(hasty, 16, "may start before"));
}

TEST(Contention, MorePhasesThanNeededAreAFailureOfTheCheck) {
  // Each message in a round of its own.
  Descriptor slow = *find(Operation::alltoall, "topology_mpi_barrier");
  slow.build = [](const Problem& problem, const Parameters&) {
    Stage stage{.rounds = problem.size * problem.size, .write = [problem](int round, Writer& writer) {
                  const int from = round / problem.size;
                  const int to = round % problem.size;
                  if (from == problem.rank && from != to) writer.send(block(schedule::Place::input, to), to);
                  if (to == problem.rank && from == to) {
                    writer.copy(block(schedule::Place::output, to), block(schedule::Place::input, to));
                  }
                  if (to == problem.rank && from != to) {
                    writer.recv(block(schedule::Place::output, from), from);
                  }
                }};
    Program program;
    program.stages.push_back(std::move(stage));
    return program;
  };
  EXPECT_TRUE(is_caught(slow, 6, "takes 30 rounds, 5 would be enough"));
}

TEST(Contention, IsLookedAtOnTheSourcesTopologiesFirst) {
  for (const auto& [size, names] :
       {std::pair{16, std::vector<std::string>{"16x1 on tree:16", "16x1 on tree:3,5,8"}},
        {32, {"32x1 on tree:4x8"}}}) {
    for (const char* name : {"topology_light_barrier", "topology_mpi_barrier"}) {
      const auto shapes = proof::check_shapes(*find(Operation::alltoall, name), size, 1);
      std::vector<std::string> first;
      for (std::size_t i = 0; i < names.size(); ++i) first.push_back(shapes.at(i).layout.name);
      std::sort(first.begin(), first.end());
      EXPECT_EQ(first, names) << name;
    }
  }
}

TEST(Contention, LogicalRingsAreFreeOfIt) {
  for (const Operation operation : {Operation::allgather, Operation::allgatherv}) {
    const CheckedCall call = call_of(*find(operation, "topology_ring"), "16x1", "tree:3,5,8");
    const proof::RoundsOnLinks links = rounds_on_links(call);
    EXPECT_EQ(links.most_on_a_link, 1);
    EXPECT_EQ(links.rounds, 15);
    EXPECT_EQ(conflict_over_time(call), "");
  }
}

TEST(TopologyLegality, SaysWhyNot) {
  const auto why = [](Operation operation, const char* name, const patterns::Layout& layout) {
    Problem problem{.operation = operation, .size = layout.size()};
    problem.layout = std::make_shared<patterns::Layout>(layout);
    return why_illegal(*find(operation, name), problem, 8, true, true);
  };
  // With nothing known of switches nodes hang on one.
  EXPECT_EQ(why(Operation::alltoall, "topology_light_barrier", *patterns::Layout::parse("4x2")), "");
  patterns::Layout foreign = *patterns::Layout::parse("4x2");
  foreign.switches = std::make_shared<patterns::SwitchTree>(
      patterns::SwitchTree{.names = {}, .above = {}, .why_unusable = "f"});
  for (const char* name :
       {"topology_light_barrier", "topology_mpi_barrier", "two_level_topology_light_barrier"}) {
    EXPECT_EQ(why(Operation::alltoall, name, foreign), "needs a topology of this job: f");
  }
  EXPECT_EQ(why(Operation::allgather, "topology_ring", foreign), "needs a topology of this job: f");
  EXPECT_EQ(why(Operation::allreduce, "rab1_topology_ring", foreign), "needs a topology of this job: f");
  EXPECT_EQ(why(Operation::allgather, "ring", foreign), "");
  // 40 * 40 messages go between the nodes one by one; between their leaders it is one.
  const patterns::Layout large = *patterns::Layout::parse("2x40");
  EXPECT_EQ(why(Operation::alltoall, "topology_light_barrier", large),
            "takes at most 1024 phases, on these switches there are 1600");
  EXPECT_EQ(why(Operation::alltoall, "topology_mpi_barrier", *patterns::Layout::parse("2x17")),
            "takes at most 256 phases, on these switches there are 289");
  EXPECT_EQ(why(Operation::alltoall, "two_level_topology_light_barrier", large), "");
}

}  // namespace
}  // namespace unisono::algorithms
