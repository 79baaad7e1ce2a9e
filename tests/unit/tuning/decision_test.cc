// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "algorithms/catalogue/agent_descriptors.h"
#include "learner_program.h"
#include "questions.h"
#include "tuning/decisions/candidates.h"

namespace unisono::tuning {
namespace {

Decider forced(const char* text, std::vector<std::string>* warnings) {
  Decider decider;
  decider.add(make_forced(text, warnings));
  decider.add(make_rules());
  return decider;
}

TEST(DecisionTest, EveryDecisionHasAReasonAndIsLegal) {
  Decider decider;
  decider.add(make_rules());
  for (int op = 0; op < operation_count; ++op) {
    for (const char* layout : {"1", "2", "7", "2x1", "4x4", "3,5,8", "4x4/cyclic", "1,1,6"}) {
      for (std::int64_t bytes : {0LL, 8LL, 4096LL, 1LL << 20, 1LL << 32}) {
        for (bool has_shared_memory : {false, true}) {
          for (bool is_commutative : {false, true}) {
            Question q = question(static_cast<Operation>(op), layout, bytes, has_shared_memory);
            q.problem.is_commutative = is_commutative;
            const Choice choice = decider.decide(q);
            EXPECT_FALSE(choice.reason.empty());
            if (choice.algorithm == nullptr) continue;
            EXPECT_EQ(
                algorithms::why_illegal(*choice.algorithm, q.problem, q.bytes(), has_shared_memory, false),
                "");
            for (const auto& spec : choice.algorithm->parameters) {
              EXPECT_GE(choice.parameters.get(spec.name), spec.low) << choice.algorithm->name;
              EXPECT_LE(choice.parameters.get(spec.name), spec.high) << choice.algorithm->name;
            }
          }
        }
      }
    }
  }
}

TEST(DecisionTest, CallsThatLackProgressAreLeftForThatReason) {
  Decider decider;
  decider.add(make_rules());
  // Two of which a rule names the MPI's own behind what sends messages, and no rule anything.
  for (const Operation operation : {Operation::allgatherv, Operation::allreduce}) {
    Question q = question(operation, "2x2", 8);
    q.is_blocking = q.may_send = false;
    const Choice choice = decider.decide(q);
    EXPECT_EQ(choice.name(), "native");
    EXPECT_TRUE(choice.is_for_progress);
    EXPECT_NE(choice.reason.find(needs_progress), std::string::npos) << choice.reason;
    q.may_send = true;
    EXPECT_FALSE(decider.decide(q).is_for_progress);
  }
  Question q = question(Operation::gatherv, "2x2", 8);
  q.is_blocking = q.may_send = false;
  EXPECT_FALSE(decider.decide(q).is_for_progress) << "the rules leave it to the MPI anyway";
}

TEST(DecisionTest, EveryReproducibleReductionIsServed) {
  std::vector<std::string> warnings;
  Decider decider = forced("all:native", &warnings);
  for (const Operation operation : {Operation::reduce, Operation::allreduce, Operation::reduce_scatter_block,
                                    Operation::reduce_scatter, Operation::scan, Operation::exscan}) {
    for (const char* layout : {"2", "3", "7", "2x1", "4x4", "3,5,8", "4x4/cyclic", "1,1,6", "3x3"}) {
      for (std::int64_t bytes : {1LL, 8LL, 4096LL, 1LL << 20, 1LL << 40}) {
        for (bool has_shared_memory : {false, true}) {
          Question q = question(operation, layout, bytes, has_shared_memory);
          q.problem.is_commutative = false;
          q.problem.is_reproducible = true;
          const Choice choice = decider.decide(q);
          ASSERT_NE(choice.algorithm, nullptr) << name(operation) << " " << layout << " " << bytes;
          EXPECT_TRUE(choice.algorithm->legality.keeps_one_order) << choice.algorithm->name;
          EXPECT_EQ(choice.reason.rfind("reproducible: ", 0), 0u) << choice.reason;
        }
      }
    }
  }
  EXPECT_FALSE(decider.take_warnings().empty());
}

TEST(DecisionTest, WhatIsQuarantinedIsNotTaken) {
  std::vector<std::string> warnings;
  Decider decider = forced("", &warnings);
  Question q = question(Operation::allreduce, "4", 1 << 20);
  std::set<const algorithms::Descriptor*> quarantined{decider.decide(q).algorithm};
  q.quarantined = &quarantined;
  const Choice next = decider.decide(q);
  EXPECT_FALSE(quarantined.contains(next.algorithm));
  EXPECT_NE(next.reason.find("is quarantined"), std::string::npos) << next.reason;
  // Where the order is asked for, its loss is said.
  q.problem.is_commutative = false;
  q.problem.is_reproducible = true;
  for (const algorithms::Descriptor& d : algorithms::registry()) quarantined.insert(&d);
  EXPECT_EQ(decider.decide(q).algorithm, nullptr);
  warnings = decider.take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].rfind("allreduce is not reproducible", 0), 0u) << warnings[0];
}

TEST(DecisionTest, RulesTakeEveryOperationOnANodeWithSharedMemory) {
  Decider decider;
  decider.add(make_rules());
  for (int op = 0; op <= static_cast<int>(Operation::reduce_scatter_block); ++op) {
    for (std::int64_t bytes : {8LL, 1LL << 20}) {
      if (static_cast<Operation>(op) == Operation::barrier) bytes = 0;
      EXPECT_NE(decider.decide(question(static_cast<Operation>(op), "4", bytes)).algorithm, nullptr)
          << op << " " << bytes;
    }
  }
  for (const Operation operation :
       {Operation::scan, Operation::exscan, Operation::allgatherv, Operation::reduce_scatter}) {
    EXPECT_EQ(decider.decide(question(operation, "4", 1 << 20)).name(), "shared") << name(operation);
  }
}

// With a core for each of many ranks small messages go along what divides the node, but for broadcasts.
TEST(DecisionTest, SmallMessagesOfManyCoresGoAlongDomains) {
  Decider decider;
  decider.add(make_rules());
  const auto decided = [&](Operation operation, const char* layout, bool is_oversubscribed = false) {
    Question q = question(operation, layout, operation == Operation::barrier ? 0 : 8);
    q.is_oversubscribed = is_oversubscribed;
    return decider.decide(q);
  };
  for (const Operation operation : {Operation::barrier, Operation::reduce, Operation::allreduce}) {
    EXPECT_EQ(decided(operation, "1x2x8").name(), "fused_domains") << name(operation);
    EXPECT_EQ(decided(operation, "1x2x4").name(), "fused") << "too few: " << name(operation);
    EXPECT_EQ(decided(operation, "16").name(), "fused") << "nothing divides them: " << name(operation);
    EXPECT_EQ(decided(operation, "1x2x8", true).name(), "fused") << "they share cores: " << name(operation);
    EXPECT_EQ(decided(operation, "2x2x8").parameters.get_or("domains", 0), 1) << name(operation);
    EXPECT_EQ(decided(operation, "2x2x4").parameters.get_or("domains", 0), 0) << name(operation);
  }
  EXPECT_EQ(decided(Operation::bcast, "1x2x8").name(), "fused");
  EXPECT_EQ(decided(Operation::allgather, "1x2x8").name(), "fused");
}

// Fused where all pairs of few ranks have streams, and ranks a core each.
TEST(DecisionTest, UnevenBlocksOfUnknownLengthsAreFusedOrLeftToTheHost) {
  Decider decider;
  decider.add(make_rules());
  for (const Operation operation :
       {Operation::alltoallv, Operation::alltoallw, Operation::gatherv, Operation::scatterv}) {
    const auto decided = [&](bool has_streams, bool is_blocking, bool is_oversubscribed,
                             const char* layout = "8") {
      Question q = question(operation, layout, 0);
      q.has_single_copy = true;
      q.has_streams = has_streams;
      q.is_blocking = is_blocking;
      q.is_oversubscribed = is_oversubscribed;
      return decider.decide(q).name();
    };
    EXPECT_EQ(decided(true, true, false), "fused") << name(operation);
    EXPECT_EQ(decided(true, true, false, "9"), "native") << name(operation);
    EXPECT_EQ(decided(true, false, false), "native") << name(operation);
    EXPECT_EQ(decided(false, true, false), "native") << name(operation);
    EXPECT_EQ(decided(true, true, true), is_uneven_alltoall(operation) ? "shared" : "native")
        << name(operation);
  }
  EXPECT_EQ(decider.decide(question(Operation::allgatherv, "4", 256)).name(), "fused");
  EXPECT_EQ(decider.decide(question(Operation::allgatherv, "4", 16 << 10)).name(), "shared");
}

TEST(DecisionTest, SmallScansAndScatteredReductionsAreFused) {
  Decider decider;
  decider.add(make_rules());
  for (const Operation operation :
       {Operation::scan, Operation::exscan, Operation::reduce_scatter_block, Operation::reduce_scatter}) {
    for (const bool is_oversubscribed : {false, true}) {
      Question q = question(operation, "4", 1 << 10);
      q.is_oversubscribed = is_oversubscribed;
      EXPECT_EQ(decider.decide(q).name(), "fused") << name(operation);
      q.size_class = size_class(64 << 10);
      EXPECT_EQ(decider.decide(q).name(), "shared") << name(operation);
    }
  }
}

TEST(DecisionTest, LargeMessagesAreCutWhereEachRankHasACore) {
  Decider decider;
  decider.add(make_rules());
  const auto piece = [&](Operation operation, std::int64_t bytes) {
    return decider.decide(question(operation, "2", bytes)).parameters.get("piece");
  };
  for (const Operation operation :
       {Operation::bcast, Operation::scatter, Operation::scan, Operation::exscan}) {
    EXPECT_EQ(piece(operation, 128 << 10), 64 << 10) << name(operation) << ": both copy at the same time";
    EXPECT_EQ(piece(operation, 1 << 20), 128 << 10) << name(operation);
    EXPECT_EQ(piece(operation, 4 << 20), 256 << 10) << name(operation);
  }
  for (const Operation operation : {Operation::allreduce, Operation::alltoall, Operation::gather})
    EXPECT_EQ(piece(operation, 128 << 10), 256 << 10) << name(operation) << ": few waits";
  Question q = question(Operation::bcast, "2", 1 << 20);
  q.is_oversubscribed = true;
  EXPECT_EQ(decider.decide(q).parameters.get("piece"), 0);
}

std::string decided(Operation operation, const char* layout, std::int64_t bytes) {
  Decider decider;
  decider.add(make_rules());
  return std::string(decider.decide(question(operation, layout, bytes)).name());
}

TEST(DecisionTest, SmallReductionsBetweenNodesMeetInFusedOperations) {
  EXPECT_EQ(decided(Operation::reduce, "4x4", 4 << 10), "two_level_fused_binomial");
  EXPECT_EQ(decided(Operation::reduce, "4x4", 8 << 10), "two_level_binomial");
  EXPECT_EQ(decided(Operation::reduce, "4x1", 8), "binomial");
  EXPECT_EQ(decided(Operation::allreduce, "4x4", 8), "two_level_fused_recursive_doubling");
  EXPECT_EQ(decided(Operation::allreduce, "4x4", 8 << 10), "two_level_recursive_doubling");
  EXPECT_EQ(decided(Operation::allreduce, "4x4", 64 << 10), "two_level_rabenseifner");
  EXPECT_EQ(decided(Operation::allreduce, "4x4", 128 << 10), "two_level_ring");
}

TEST(DecisionTest, SmallGathersAndScattersBetweenNodesGoInLinesInsideThem) {
  EXPECT_EQ(decided(Operation::gather, "4x4", 8), "two_level_fused_flat");
  EXPECT_EQ(decided(Operation::gather, "4x4", 4 << 10), "two_level_fused_flat");
  EXPECT_EQ(decided(Operation::gather, "16x4", 8), "two_level_fused_binomial");
  EXPECT_EQ(decided(Operation::gather, "4x1", 8), "binomial");
  EXPECT_EQ(decided(Operation::scatter, "4x4", 64), "binomial");
  EXPECT_EQ(decided(Operation::scatter, "4x4", 256), "two_level_fused_flat");
  EXPECT_EQ(decided(Operation::scatter, "4x1", 128), "binomial");
  Decider decider;
  decider.add(make_rules());
  for (const Operation operation : {Operation::gather, Operation::scatter}) {
    Question q = question(operation, "4x4", 256);
    q.is_blocking = false;
    EXPECT_EQ(decider.decide(q).name(), "two_level_binomial") << "lines would wait inside the call";
  }
}

TEST(DecisionTest, BarriersOfFewNodesGoThroughOneWhereRanksShareCores) {
  Decider decider;
  decider.add(make_rules());
  const auto decided = [&](const char* layout, bool is_oversubscribed) {
    Question q = question(Operation::barrier, layout, 0);
    q.is_oversubscribed = is_oversubscribed;
    return std::string(decider.decide(q).name());
  };
  EXPECT_EQ(decided("4x4", true), "two_level_central_counter");
  EXPECT_EQ(decided("4x4", false), "two_level_dissemination");
  EXPECT_EQ(decided("2x8", true), "two_level_dissemination") << "one round is the least there is";
  EXPECT_EQ(decided("8x2", true), "two_level_dissemination") << "one leader would meet too many";
}

TEST(DecisionTest, BetweenNodesBlocksTravelTogether) {
  for (const Operation operation : {Operation::reduce_scatter_block, Operation::reduce_scatter}) {
    EXPECT_EQ(decided(operation, "4x4", 8), "two_level_recursive_halving");
    EXPECT_EQ(decided(operation, "4x4", 64 << 10), "two_level_ring");
    EXPECT_EQ(decided(operation, "4x1", 8), "native");
    EXPECT_EQ(decided(operation, "4x1", 64 << 10), "ring");
  }
  EXPECT_EQ(decided(Operation::allgatherv, "4x4", 8), "two_level_recursive_doubling");
  EXPECT_EQ(decided(Operation::gather, "4x4", 8 << 10), "two_level_binomial");
  EXPECT_EQ(decided(Operation::scatter, "4x4", 512), "two_level_binomial");
  EXPECT_EQ(decided(Operation::allgatherv, "3x4", 8), "two_level_bruck");
  EXPECT_EQ(decided(Operation::allgatherv, "4x4", 64 << 10), "two_level_ring");
  for (const Operation operation : {Operation::scan, Operation::exscan}) {
    EXPECT_EQ(decided(operation, "4x4", 8), "native");
    EXPECT_EQ(decided(operation, "4x4", 64 << 10), "two_level_chain");
    EXPECT_EQ(decided(operation, "4x4", 1 << 20), "chain");
    EXPECT_EQ(decided(operation, "32x4", 1 << 20), "two_level_recursive_doubling");
  }
}

TEST(DecisionTest, ShortChainsServeMiddleSizesBetweenFewNodes) {
  Decider decider;
  decider.add(make_rules());
  const auto decided = [&](Operation operation, const char* layout, std::int64_t bytes) {
    const Choice choice = decider.decide(question(operation, layout, bytes));
    return std::string(choice.name()) + " " + std::to_string(choice.parameters.get("segment"));
  };
  EXPECT_EQ(decided(Operation::bcast, "4x4", 8), "two_level_fused_k_nomial 0");
  EXPECT_EQ(decided(Operation::bcast, "4x4", 64 << 10), "two_level_chain 8192");
  EXPECT_EQ(decided(Operation::bcast, "16x4", 64 << 10), "two_level_binomial 0");
  EXPECT_EQ(decided(Operation::reduce, "4x4", 64 << 10), "two_level_chain 8192");
  EXPECT_EQ(decided(Operation::reduce, "4x4", 32 << 10), "two_level_binomial 0");
  EXPECT_EQ(decided(Operation::reduce, "16x4", 64 << 10), "two_level_binomial 0");
}

TEST(DecisionTest, MiddleSizesGoThroughSlots) {
  Decider decider;
  decider.add(make_rules());
  Question q = question(Operation::bcast, "2", 64 << 10);
  for (const bool has_single_copy : {false, true}) {
    q.has_single_copy = has_single_copy;
    EXPECT_EQ(decider.decide(q).name(), "shared") << "the kernel is not asked to copy";
  }
}

// Short blocks of neighbours on a node go together, and long ones by themselves: up to which length is found
// out for the length that a program has.
TEST(DecisionTest, LearningTriesOtherLengthsOfBundles) {
  for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{4096}, std::int64_t{64} << 10}) {
    Question q = question(Operation::neighbor_alltoall, "4x4", bytes);
    Decider decider;
    decider.add(make_rules());
    const CandidateList list = candidates_of(q, decider.decide(q), {});
    std::set<bool> go_together;
    for (const Choice& choice : list.choices) {
      if (choice.algorithm == nullptr || choice.algorithm->name != "bundles") continue;
      go_together.insert(bytes <= choice.parameters.get("bundle_up_to"));
    }
    EXPECT_EQ(go_together, (std::set<bool>{false, true})) << bytes;
  }
}

// Who starts agents wants to know early what they bring: before what the model expects most of, and behind
// what they are compared with.
TEST(DecisionTest, LearningTriesAgentsEarly) {
  for (const Operation operation : {Operation::allreduce, Operation::bcast}) {
    Question q = question(operation, "4x2", 8);
    q.why_no_agents.clear();
    Decider decider;
    decider.add(make_rules());
    const auto predict = [](const Question&, const Choice&) { return unit_s; };
    const CandidateList list = candidates_of(q, decider.decide(q), predict);
    const auto is_by_agents = [](const Choice& choice) {
      return choice.algorithm != nullptr && choice.algorithm->engine == algorithms::Engine::agents;
    };
    const auto agents =
        static_cast<int>(std::ranges::find_if(list.choices, is_by_agents) - list.choices.begin());
    ASSERT_GT(list.choices.size(), 5u);
    ASSERT_LT(static_cast<std::size_t>(agents), list.choices.size());
    Program program(Mode::guarded, list.candidates, {}, 1);
    program.run(20'000, constant(std::vector<double>(list.candidates.size(), 1)));
    std::vector<int> tried;
    for (const Event& event : program.learner().events()) {
      if (std::ranges::find(tried, event.candidate) == tried.end()) tried.push_back(event.candidate);
    }
    ASSERT_GE(tried.size(), 4u);
    std::sort(tried.begin(), tried.begin() + 2);
    EXPECT_EQ((std::vector<int>{tried[0], tried[1], tried[2]}), (std::vector<int>{0, 1, agents}));
  }
}

TEST(DecisionTest, OneRankIsLeftToTheHost) {
  Decider decider;
  decider.add(make_rules());
  EXPECT_EQ(decider.decide(question(Operation::bcast, "1", 8)).algorithm, nullptr);
}

TEST(DecisionTest, TheUsersWordComesFirst) {
  std::vector<std::string> warnings;
  Decider decider = forced("allreduce:ring(segment=64K,window=3), bcast:native", &warnings);
  EXPECT_TRUE(warnings.empty());
  const Choice ring = decider.decide(question(Operation::allreduce, "4", 1 << 20));
  EXPECT_EQ(ring.name(), "ring");
  EXPECT_EQ(ring.source, "forced");
  EXPECT_EQ(ring.parameters.get("segment"), 65536);
  EXPECT_EQ(ring.parameters.get("window"), 3);
  EXPECT_EQ(decider.decide(question(Operation::bcast, "4", 8)).name(), "native");
  EXPECT_NE(decider.decide(question(Operation::barrier, "4", 0)).source, "forced");
}

TEST(DecisionTest, AllStandsForEveryOperationThatHasTheAlgorithm) {
  std::vector<std::string> warnings;
  Decider decider = forced("all:native", &warnings);
  for (int op = 0; op < operation_count; ++op) {
    const Choice choice = decider.decide(question(static_cast<Operation>(op), "4", 0));
    EXPECT_EQ(choice.name(), "native");
    EXPECT_EQ(choice.source, "forced");
  }
  Decider trees = forced("all:binomial", &warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(trees.decide(question(Operation::bcast, "4", 8)).name(), "binomial");
  EXPECT_NE(trees.decide(question(Operation::alltoall, "4", 8)).name(), "binomial");
  forced("all:nosuch", &warnings);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(DecisionTest, OfSeveralForOneOperationTheFirstThatIsLegalServes) {
  std::vector<std::string> warnings;
  Decider decider = forced("bcast:two_level_binomial,bcast:chain,all:flat", &warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(decider.decide(question(Operation::bcast, "2x2", 8)).name(), "two_level_binomial");
  EXPECT_EQ(decider.decide(question(Operation::bcast, "4", 8)).name(), "chain");
  EXPECT_EQ(decider.decide(question(Operation::gather, "4", 8)).name(), "flat");
}

TEST(DecisionTest, UnknownWordsAreRefusedAndNamed) {
  for (const char* text : {"allreduce", "nosuch:ring", "allreduce:nosuch", "allreduce:ring(segment=64K",
                           "allreduce:ring(nosuch=1)", "allreduce:ring(window=99)",
                           "allreduce:ring(segment=x)", "allreduce:ring(segment=8K,segment=4K)"}) {
    std::vector<std::string> warnings;
    forced(text, &warnings);
    ASSERT_EQ(warnings.size(), 1u) << text;
    EXPECT_NE(warnings[0].find("refused"), std::string::npos);
  }
  std::vector<std::string> warnings;
  forced("allreduce:nosuch", &warnings);
  EXPECT_NE(warnings[0].find("`unisono list allreduce` names them"), std::string::npos) << warnings[0];
  warnings.clear();
  forced("allreduce:ring(nosuch=1)", &warnings);
  EXPECT_NE(warnings[0].find("ring has no parameter 'nosuch' (it has segment"), std::string::npos)
      << warnings[0];
  EXPECT_EQ(warnings[0].find("recursive_doubling"), std::string::npos) << "of ring alone";
  warnings.clear();
  forced("nosuch:ring", &warnings);
  EXPECT_NE(warnings[0].find("there are barrier, bcast"), std::string::npos) << warnings[0];
}

TEST(DecisionTest, AnIllegalChoiceIsRefusedOnceItIsMet) {
  std::vector<std::string> warnings;
  Decider decider = forced("allreduce:fused", &warnings);
  EXPECT_TRUE(warnings.empty());
  const Choice choice = decider.decide(question(Operation::allreduce, "4x4", 8));
  EXPECT_NE(choice.name(), "fused");
  EXPECT_NE(choice.reason.find("forced but"), std::string::npos);
  const std::vector<std::string> refused = decider.take_warnings();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("allreduce:fused"), std::string::npos);
  EXPECT_TRUE(decider.take_warnings().empty());
}

TEST(DecisionTest, ARefusalIsSaidOnceForAllSizesAndShapes) {
  std::vector<std::string> none;
  Decider decider = forced("allreduce:two_level_ring,allreduce:fused", &none);
  for (const char* layout : {"4", "2", "4x4"}) {
    for (std::int64_t bytes : {8, 8192, 1 << 20}) {
      const Choice choice = decider.decide(question(Operation::allreduce, layout, bytes));
      if (choice.source == "forced") continue;
      EXPECT_NE(choice.reason.find("forced but"), std::string::npos);
    }
  }
  // On one node, above the largest message, on several nodes.
  const std::vector<std::string> refused = decider.take_warnings();
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_NE(refused[0].find("two_level_ring is refused: it needs several nodes"), std::string::npos);
  EXPECT_NE(refused[1].find("fused is refused: it takes at most"), std::string::npos);
}

}  // namespace
}  // namespace unisono::tuning
