// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/catalogue/names_in_sources.h"
#include "patterns/graphs.h"

namespace unisono::algorithms {
namespace {

schedule::Problem problem_on(const char* layout, Operation operation) {
  schedule::Problem problem{.operation = operation};
  problem.layout = std::make_shared<const patterns::Layout>(*patterns::Layout::parse(layout));
  problem.size = problem.layout->size();
  if (is_neighborhood(operation))
    problem.neighborhood =
        std::make_shared<const patterns::Neighborhood>(*patterns::parse_graph("moore:2,1", problem.size));
  return problem;
}

TEST(Registry, IsSortedAndComplete) {
  std::set<std::pair<Operation, std::string>> seen;
  const Descriptor* before = nullptr;
  for (const Descriptor& descriptor : registry()) {
    EXPECT_TRUE(seen.insert({descriptor.operation, descriptor.name}).second) << descriptor.name;
    EXPECT_EQ(find(descriptor.operation, descriptor.name), &descriptor);
    EXPECT_FALSE(descriptor.group.empty()) << descriptor.name;
    EXPECT_TRUE(descriptor.sentence.ends_with(".")) << descriptor.sentence;
    EXPECT_FALSE(descriptor.source.empty()) << descriptor.name;
    if (before != nullptr) {
      EXPECT_LE(before->operation, descriptor.operation);
    }
    before = &descriptor;
    std::set<std::string_view> parameters;
    for (const ParameterSpec& spec : descriptor.parameters) {
      EXPECT_TRUE(parameters.insert(spec.name).second) << descriptor.name << " " << spec.name;
      EXPECT_LE(spec.low, spec.standard);
      EXPECT_LE(spec.standard, spec.high);
      EXPECT_FALSE(spec.help.empty());
    }
  }
  EXPECT_EQ(find(Operation::bcast, "no_such_algorithm"), nullptr);
}

TEST(Registry, EveryOperationHasSharedMemoryTwoExchangesAndTwoLevels) {
  for (int number = 0; number < operation_count; ++number) {
    int shared = 0;
    int between_nodes = 0;
    int two_level = 0;
    for (const Descriptor& descriptor : registry()) {
      if (descriptor.operation != static_cast<Operation>(number)) continue;
      if (descriptor.legality.needs_one_node) ++shared;
      if (descriptor.group == "two-level") {
        ++two_level;
      } else if (!descriptor.legality.needs_shared_memory) {
        ++between_nodes;
      }
    }
    if (is_neighborhood(static_cast<Operation>(number))) {
      EXPECT_GE(shared, 1) << number;
      EXPECT_NE(find(static_cast<Operation>(number), "bundles"), nullptr) << "serves several nodes";
      continue;
    }
    EXPECT_GE(shared, 1) << number;
    EXPECT_GE(between_nodes, 2) << number;
    EXPECT_GE(two_level, 1) << number;
  }
}

// S1, section 3.1, under the names that they have here.
TEST(Registry, HoldsTheSourcesRepository) {
  const auto expect = [](Operation operation, std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_NE(find(operation, name), nullptr) << name;
  };
  expect(Operation::alltoall, {"simple", "mesh_2d", "mesh_3d", "recursive_doubling", "bruck", "ring",
                               "ring_light_barrier", "ring_mpi_barrier", "pairwise", "pairwise_light_barrier",
                               "pairwise_mpi_barrier", "topology_light_barrier", "topology_mpi_barrier"});
  for (const Operation operation : {Operation::allgather, Operation::allgatherv}) {
    expect(operation, {"simple", "mesh_2d", "mesh_3d", "recursive_doubling", "bruck", "direct_ring",
                       "direct_ring_light_barrier", "direct_ring_mpi_barrier", "pairwise",
                       "pairwise_light_barrier", "pairwise_mpi_barrier", "topology_ring"});
  }
  expect(Operation::allreduce, {"allgather_reduce_bruck",
                                "allgather_reduce_mesh_2d",
                                "allgather_reduce_mesh_3d",
                                "allgather_reduce_recursive_doubling",
                                "allgather_reduce_direct_ring",
                                "rab1_simple",
                                "rab1_mesh_2d",
                                "rab1_mesh_3d",
                                "rab1_recursive_doubling",
                                "rab1_bruck",
                                "rab1_direct_ring",
                                "rab1_direct_ring_light_barrier",
                                "rab1_direct_ring_mpi_barrier",
                                "rab1_topology_ring",
                                "rab2_ring_topology_ring",
                                "rab2_ring_light_barrier_topology_ring",
                                "rab2_ring_mpi_barrier_topology_ring",
                                "rab2_ring_direct_ring",
                                "rab2_ring_light_barrier_direct_ring_light_barrier",
                                "rab2_ring_mpi_barrier_direct_ring_mpi_barrier"});
}

// S4, section 3.3: which of the source's algorithms are tried for each other. An allgather of uneven blocks
// has the groups of one of even blocks.
TEST(Registry, GroupsTheSourcesAlgorithmsAsTheSource) {
  using Groups = std::set<std::set<std::string>>;
  const auto groups_of = [](Operation operation) {
    std::map<std::string, std::set<std::string>> by_name;
    for (const Descriptor& descriptor : registry()) {
      if (descriptor.operation != operation) continue;
      for (const NameInSource& named : names_in_sources(descriptor.operation, descriptor.name)) {
        if (named.row == "S1") by_name[std::string(descriptor.group)].insert(named.name);
      }
    }
    Groups groups;
    for (const auto& [name, members] : by_name) groups.insert(members);
    return groups;
  };
  Groups expected = {{"simple"},
                     {"rd", "2D mesh", "3D mesh", "Bruck"},
                     {"ring", "pair"},
                     {"ring with light barrier", "pair with light barrier"},
                     {"ring with MPI barrier", "pair with MPI barrier"}};
  const Groups common = expected;
  expected.insert({"topology specific"});
  EXPECT_EQ(groups_of(Operation::alltoall), expected);
  expected = common;
  expected.insert({"TSLR"});
  EXPECT_EQ(groups_of(Operation::allgather), expected);
  EXPECT_EQ(groups_of(Operation::allgatherv), expected);
  std::set<std::size_t> sizes;
  for (const auto& group : groups_of(Operation::allreduce)) sizes.insert(group.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{5, 6, 9}));
}

// A list that names what is not there, or calls one algorithm twice the same, would mislead.
TEST(Registry, SaysWhatTheSourcesCallAnAlgorithm) {
  const std::map<Operation, int> s1_lists = {{Operation::alltoall, 13},
                                             {Operation::allgather, 12},
                                             {Operation::allgatherv, 12},
                                             {Operation::allreduce, 20}};
  std::map<Operation, int> found;
  for (const Descriptor& descriptor : registry()) {
    for (const NameInSource& named : names_in_sources(descriptor.operation, descriptor.name)) {
      if (named.row == "S1") ++found[descriptor.operation];
    }
  }
  EXPECT_EQ(found, s1_lists);
}

TEST(Registry, FindsAnAlgorithmByASourcesNameThatMeansOneAlone) {
  const auto name_of = [](Operation operation, const char* text) {
    const Descriptor* found = find_named(operation, text);
    return found == nullptr ? std::string() : found->name;
  };
  EXPECT_EQ(name_of(Operation::alltoall, "pair with light barrier"), "pairwise_light_barrier");
  EXPECT_EQ(name_of(Operation::allgather, "tslr"), "topology_ring");
  EXPECT_EQ(name_of(Operation::allreduce, "Rab1-2D"), "rab1_mesh_2d");
  EXPECT_EQ(name_of(Operation::allreduce, "Rab2-(ring,ring)"), "rab2_ring_direct_ring");
  EXPECT_EQ(name_of(Operation::bcast, "f-nomial tree"), "k_nomial");
  EXPECT_EQ(name_of(Operation::allgather, "ring"), "ring") << "the own name goes first";
  EXPECT_EQ(name_of(Operation::bcast, "scatter-allgather"), "");
  EXPECT_EQ(why_unknown(Operation::bcast, "scatter-allgather"),
            "there is no algorithm 'scatter-allgather' for bcast; a source calls so scatter_rd_allgather and "
            "scatter_ring_allgather");
  EXPECT_EQ(why_unknown(Operation::bcast, "frob"), "there is no algorithm 'frob' for bcast");
}

// A rank's area has at least 16 KiB, a lane at least a cache line.
TEST(Registry, EveryLaneHasRoomInTheSmallestArea) {
  Parameters many_slots;
  many_slots.set("buffers", 16);
  for (const char* layout : {"2", "64", "256", "257", "1000", "2x500", "400x2"}) {
    for (const Descriptor& descriptor : registry()) {
      const schedule::Problem problem = problem_on(layout, descriptor.operation);
      if (!why_illegal(descriptor, problem, 1, true, true).empty()) continue;
      for (const schedule::Stage& stage :
           descriptor.build(problem, with_standards(descriptor, many_slots)).stages) {
        const int areas = stage.shared == schedule::SharedMode::common ? problem.layout->local_size(0) : 1;
        EXPECT_GE(areas * 16384 / stage.buffers / stage.lanes, 64) << descriptor.name << " on " << layout;
        EXPECT_GE(stage.buffers, 1);
      }
    }
  }
}

// What calls that do not block must know: does a step wait inside, are messages sent?
TEST(Registry, SaysWhatWaitsInsideAndWhatSendsNothing) {
  for (const Descriptor& descriptor : registry()) {
    bool waits = false, sends = false;
    for (const char* layout : {"8", "1x2x4", "4x2"}) {
      schedule::Problem problem = problem_on(layout, descriptor.operation);
      if (!why_illegal(descriptor, problem, 1, true, true).empty()) continue;
      for (problem.rank = 0; problem.rank < problem.size; ++problem.rank) {
        const Parameters standards = with_standards(descriptor);
        std::vector<schedule::Stage> stages = descriptor.build(problem, standards).stages;
        // Long blocks that the kernel copies for nobody may go as messages.
        // Neighbours' lines and streams are no schedule.
        const bool is_beside_schedules =
            descriptor.engine == Engine::fused && is_neighborhood(descriptor.operation);
        waits = waits || is_beside_schedules;
        if (descriptor.build_short) stages = descriptor.build_short(problem, standards).stages;
        for (const schedule::Stage& stage : stages) {
          std::vector<schedule::Step> steps;
          schedule::Writer writer(&steps);
          for (int round = 0; round < stage.rounds; ++round) stage.write(round, writer);
          for (const schedule::Step& step : steps) {
            waits = waits || schedule::is_fused(step.kind);
            sends = sends || step.kind == schedule::StepKind::send;
          }
        }
      }
    }
    const std::string name = std::string(unisono::name(descriptor.operation)) + " " + descriptor.name;
    EXPECT_EQ(descriptor.legality.waits_inside, waits) << name;
    // What is too long for a slot goes from neighbour to neighbour.
    const bool may_send = is_neighborhood(descriptor.operation);
    EXPECT_FALSE(descriptor.legality.needs_one_node && sends && !may_send) << name;
  }
}

TEST(Parameters, ChosenValuesAreClampedAndOthersStandard) {
  const Descriptor* descriptor = find(Operation::bcast, "shared");
  ASSERT_NE(descriptor, nullptr);
  Parameters chosen;
  chosen.set("buffers", 1000);
  chosen.set("unheard_of", 3);
  const Parameters parameters = with_standards(*descriptor, chosen);
  EXPECT_EQ(parameters.get("buffers"), 16);
  EXPECT_EQ(parameters.get("piece"), 0);
  EXPECT_EQ(parameters.get_or("unheard_of", -1), -1);
  EXPECT_DEATH(parameters.get("unheard_of"), "unheard_of");
}

TEST(Legality, SaysWhyNot) {
  const auto why = [](Operation operation, const char* name, const char* layout, bool is_commutative = true,
                      std::int64_t bytes = 8, bool has_shared_memory = true) {
    schedule::Problem problem = problem_on(layout, operation);
    problem.is_commutative = is_commutative;
    const Descriptor* descriptor = find(operation, name);
    return descriptor == nullptr ? std::string("unknown")
                                 : why_illegal(*descriptor, problem, bytes, has_shared_memory, false);
  };
  EXPECT_EQ(why(Operation::bcast, "binomial", "2x3"), "");
  EXPECT_EQ(why(Operation::bcast, "fused", "4"), "");
  EXPECT_EQ(why(Operation::bcast, "fused", "2x2"), "needs all ranks on one node, there are 2 nodes");
  EXPECT_EQ(why(Operation::bcast, "fused", "4", true, 5000), "takes at most 4096 bytes");
  EXPECT_EQ(why(Operation::alltoall, "fused", "4", true, 1024), "");
  EXPECT_EQ(why(Operation::alltoall, "fused", "4", true, 1025),
            "takes at most 4096 bytes in all blocks together");
  EXPECT_EQ(why(Operation::bcast, "shared", "4", true, 8, false), "needs shared memory, there is none");
  EXPECT_EQ(why(Operation::allreduce, "ring", "4", false), "needs a commutative operator");
  EXPECT_EQ(why(Operation::allgather, "recursive_doubling", "6"), "needs a power of two ranks, there are 6");
  EXPECT_EQ(why(Operation::allgather, "two_level_recursive_doubling", "3x2"),
            "needs a power of two nodes, there are 3");
  EXPECT_EQ(why(Operation::allgather, "two_level_recursive_doubling", "2x3"), "");
  EXPECT_EQ(why(Operation::allgather, "neighbor_exchange", "5"),
            "needs an even number of ranks, there are 5");
  EXPECT_EQ(why(Operation::allgather, "two_level_neighbor_exchange", "3x2"),
            "needs an even number of nodes, there are 3");
  EXPECT_EQ(why(Operation::alltoall, "mesh_2d", "6", true, 257), "takes at most 256 bytes");
  EXPECT_EQ(why(Operation::alltoall, "mesh_2d", "512", true, 256),
            "takes at most 65536 bytes in all blocks together");
  EXPECT_EQ(why(Operation::reduce, "two_level_binomial", "4"), "needs several nodes, there is 1");
  EXPECT_EQ(why(Operation::reduce, "two_level_binomial", "4x1"), "needs a node with more than one rank");
  EXPECT_EQ(why(Operation::reduce, "two_level_binomial", "2x2/cyclic", false),
            "needs a commutative operator, as ranks on the nodes are not consecutive");
  EXPECT_EQ(why(Operation::alltoall, "two_level_pairwise", "2x2/cyclic"),
            "needs consecutive ranks on every node");
  EXPECT_EQ(why(Operation::bcast, "single_copy", "4"), "needs single copy, the kernel allows none");
}

}  // namespace
}  // namespace unisono::algorithms
