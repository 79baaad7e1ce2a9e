// SPDX-License-Identifier: BSD-3-Clause
#include "agents/program_form.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "algorithms/catalogue/descriptor.h"
#include "schedule/compiled.h"
#include "schedule/executor.h"

namespace unisono::agents {
namespace {

using algorithms::Descriptor;
using schedule::Problem;
using schedule::Program;
using schedule::Step;

std::vector<std::vector<Step>> rounds_of(const schedule::Stage& stage) {
  std::vector<std::vector<Step>> rounds(static_cast<std::size_t>(stage.rounds));
  for (int round = 0; round < stage.rounds; ++round) {
    schedule::Writer writer(&rounds[static_cast<std::size_t>(round)]);
    stage.write(round, writer);
  }
  return rounds;
}

bool are_equal(const Step& a, const Step& b) {
  using enum schedule::StepKind;
  return a.kind == b.kind && (!schedule::is_message(a.kind) || a.peer == b.peer) &&
         (a.kind == send || a.into == b.into) && (a.kind == recv || a.left == b.left) &&
         (a.kind != reduce || a.right == b.right);
}

void expect_equal(const Program& a, const Program& b) {
  EXPECT_EQ(a.scratch, b.scratch);
  EXPECT_EQ(a.scratch_parts, b.scratch_parts);
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (std::size_t i = 0; i < a.stages.size(); ++i) {
    const schedule::Stage &left = a.stages[i], &right = b.stages[i];
    EXPECT_EQ(left.extent, right.extent);
    EXPECT_EQ(left.extent_parts, right.extent_parts);
    EXPECT_EQ(left.segment_bytes, right.segment_bytes);
    EXPECT_EQ(left.window, right.window);
    EXPECT_EQ(left.rounds_under_way, right.rounds_under_way);
    EXPECT_EQ(left.sends_under_way, right.sends_under_way);
    EXPECT_EQ(left.is_blocking, right.is_blocking);
    EXPECT_EQ(left.begins_apart, right.begins_apart);
    const auto of_left = rounds_of(left), of_right = rounds_of(right);
    ASSERT_EQ(of_left.size(), of_right.size());
    for (std::size_t round = 0; round < of_left.size(); ++round) {
      ASSERT_EQ(of_left[round].size(), of_right[round].size());
      for (std::size_t step = 0; step < of_left[round].size(); ++step)
        EXPECT_TRUE(are_equal(of_left[round][step], of_right[round][step]));
    }
  }
}

bool may_run_between_nodes(const Descriptor& descriptor, const Problem& problem) {
  return !is_block_operation(descriptor.operation) && !is_neighborhood(descriptor.operation) &&
         algorithms::why_illegal(descriptor, problem, 8, false, false).empty();
}

// Each algorithm on vectors that may run where a node is one rank, as bytes and back.
TEST(ProgramForm, keeps_every_program_of_the_registry) {
  int programs = 0;
  for (const Descriptor& descriptor : algorithms::registry()) {
    for (const int size : {2, 3, 4, 7, 8, 16}) {
      Problem problem{.operation = descriptor.operation, .size = size, .layout = layout_between(size)};
      problem.root = is_rooted(descriptor.operation) ? size / 2 : 0;
      if (!may_run_between_nodes(descriptor, problem)) continue;
      for (problem.rank = 0; problem.rank < size; ++problem.rank) {
        SCOPED_TRACE(descriptor.name + " of " + std::string(name(descriptor.operation)) + ", rank " +
                     std::to_string(problem.rank) + " of " + std::to_string(size));
        const Program program = descriptor.build(problem, algorithms::with_standards(descriptor));
        const auto bytes = write_program(problem, program);
        ASSERT_TRUE(bytes.has_value());
        const auto told = read_program(*bytes, size, problem.rank);
        ASSERT_TRUE(told.has_value());
        EXPECT_EQ(told->problem.operation, problem.operation);
        EXPECT_EQ(told->problem.root, problem.root);
        expect_equal(program, told->program);
        EXPECT_EQ(schedule::compile(problem, program)->steps.size(),
                  schedule::compile(told->problem, told->program)->steps.size());
        ++programs;
      }
    }
  }
  EXPECT_GT(programs, 1000);
  EXPECT_FALSE(
      write_program({.operation = Operation::allgather, .layout = layout_between(1)}, {}).has_value());
}

TEST(ProgramForm, refuses_what_needs_shared_memory) {
  const Descriptor* shared = algorithms::find(Operation::bcast, "shared");
  ASSERT_NE(shared, nullptr);
  const Problem problem{.operation = Operation::bcast,
                        .size = 4,
                        .layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(4))};
  EXPECT_FALSE(
      write_program(problem, shared->build(problem, algorithms::with_standards(*shared))).has_value());
}

std::string allreduce_of_seven() {
  const Descriptor* doubling = algorithms::find(Operation::allreduce, "recursive_doubling");
  const Problem problem{.operation = Operation::allreduce, .size = 7, .rank = 3, .layout = layout_between(7)};
  return *write_program(problem, doubling->build(problem, algorithms::with_standards(*doubling)));
}

// Whatever stands there: no crash, and what is read compiles or is refused.
TEST(ProgramForm, damaged_bytes_give_nothing_or_a_program_that_stays_within_its_memory) {
  const std::string whole = allreduce_of_seven();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_program(whole.substr(0, length), 7, 3).has_value()) << length;
  EXPECT_FALSE(read_program(whole + "x", 7, 3).has_value());
  EXPECT_TRUE(read_program(whole, 7, 3).has_value());
  EXPECT_FALSE(read_program(whole, 7, 4).has_value()) << "another rank's";
  EXPECT_FALSE(read_program(whole, 8, 3).has_value()) << "of more ranks";
  std::mt19937 random(seed());
  int read = 0;
  for (int attempt = 0; attempt < 20000; ++attempt) {
    std::string damaged = whole;
    const auto changes = 1 + random() % 3;
    for (unsigned i = 0; i < changes; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 2 == 0 ? random() : random() % 4);
    const auto told = read_program(damaged, 7, 3);
    if (!told) continue;
    ++read;
    for (const schedule::Stage& stage : told->program.stages) {
      for (const auto& round : rounds_of(stage)) {
        for (const Step& step : round) {
          EXPECT_LE(step.into.last, (4 * 7 + 8) * std::int64_t{step.into.parts});
          EXPECT_LT(step.peer, 7);
        }
      }
    }
    try {
      EXPECT_NE(schedule::compile(told->problem, told->program), nullptr);
    } catch (const std::invalid_argument&) {
    }
  }
  EXPECT_LT(read, 20000);
}

}  // namespace
}  // namespace unisono::agents
