// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/candidates.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "algorithms/catalogue/agent_descriptors.h"

namespace unisono::tuning {
namespace {

// Some algorithms gather all ranks' vectors in scratch memory. Who learns among them must not bring a program
// to its memory's end: so much in any case, or so many times what the call itself has on a rank.
constexpr std::int64_t little_scratch_bytes = std::int64_t{64} << 20;
constexpr std::int64_t most_scratch_ratio = 4;

// Candidates are made, memory is mapped, and ranks agree.
constexpr double beginning_s = 30e-6;

double quick_call_s(const Question& question) {
  const double ranks = question.problem.size;
  const double moved = static_cast<double>(question.bytes()) *
                       (is_block_operation(question.problem.operation) ? ranks / 2 : 1);
  if (question.problem.layout->nodes() > 1) return 10e-6 + 1e-9 * moved;
  return question.is_oversubscribed ? 0.5e-6 * ranks + 0.2e-9 * moved : 0.1e-6 + 0.1e-9 * moved;
}

bool is_by_agents(const Choice& choice) {
  return choice.algorithm != nullptr && choice.algorithm->engine == algorithms::Engine::agents;
}

bool is_modest(const Question& question, const Choice& choice) {
  if (is_by_agents(choice)) return true;
  const schedule::Problem& problem = question.problem;
  const std::int64_t unit_bytes = question.bytes();
  const std::int64_t own_bytes =
      is_block_operation(problem.operation) ? unit_bytes * problem.size : unit_bytes;
  if (unit_bytes <= little_scratch_bytes / (4 * std::int64_t{problem.size} + 4)) return true;
  const schedule::Program program = choice.algorithm->build(problem, choice.parameters);
  const double scratch_bytes = static_cast<double>(program.scratch) * static_cast<double>(unit_bytes) /
                               static_cast<double>(std::max(program.scratch_parts, 1));
  return scratch_bytes <= static_cast<double>(std::max(little_scratch_bytes, most_scratch_ratio * own_bytes));
}

}  // namespace

CandidateList candidates_of(const Question& question, const Choice& decided, const Predict& predict) {
  CandidateList list;
  const auto add = [&](Choice choice) {
    Candidate candidate{.group =
                            choice.algorithm == nullptr ? "native" : std::string(choice.algorithm->group)};
    if (predict && choice.algorithm != nullptr && !is_by_agents(choice))
      candidate.predict_s = [=] { return predict(question, choice); };
    list.candidates.push_back(std::move(candidate));
    list.choices.push_back(std::move(choice));
  };
  const auto add_legal = [&](const algorithms::Descriptor& descriptor, algorithms::Parameters parameters) {
    Choice choice{.algorithm = &descriptor, .parameters = std::move(parameters)};
    if (why_not_taken(choice, question).empty() && is_modest(question, choice)) add(std::move(choice));
  };
  const Choice native{
      .reason = "the MPI's own: run to compare times, and kept where it is faster (option 'learn')",
      .source = "native"};
  if (decided.algorithm != nullptr && why_not_taken(native, question).empty()) add(native);
  add(decided);
  list.candidates.back().is_usual = true;
  for (const algorithms::Descriptor& descriptor : algorithms::registry()) {
    if (descriptor.operation != question.problem.operation) continue;
    const bool is_decided = &descriptor == decided.algorithm;
    const algorithms::Parameters standard =
        is_decided ? decided.parameters : algorithms::with_standards(descriptor);
    if (!is_decided) add_legal(descriptor, standard);
    for (const algorithms::Parameters& other : algorithms::other_ways(descriptor, standard, question.bytes()))
      add_legal(descriptor, other);
  }
  // A test at the start of a job runs schedules alone. Who starts agents wants to know early what they bring.
  const algorithms::Descriptor* agents = algorithms::by_agents(question.problem.operation);
  if (agents != nullptr && agents != decided.algorithm && !question.may_be_tested) add_legal(*agents, {});
  if (is_by_agents(list.choices.back())) list.candidates.back().is_suggested = true;
  return list;
}

std::uint32_t calls_before_learning(const Question& question, double budget_share) {
  constexpr double few = 16, some = first_common_call, most = 65536;
  if (budget_share >= 1) return 0;
  const double calls = beginning_s / (std::max(budget_share, 1e-4) * quick_call_s(question));
  // Between these ranks do not look at the same calls.
  if (calls <= few) return static_cast<std::uint32_t>(few);
  return std::bit_ceil(static_cast<std::uint32_t>(std::clamp(calls, some, most)));
}

}  // namespace unisono::tuning
