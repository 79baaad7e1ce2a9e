// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/between_nodes.h"

#include <array>
#include <string>
#include <vector>

#include "agents/program_form.h"
#include "runtime/world/world.h"
#include "tuning/decisions/algorithm_text.h"

namespace unisono::runtime {
namespace {

struct Usual {
  Operation operation;
  std::string_view algorithm;
};
// Few rounds, and few steps for every number of nodes.
constexpr std::array<Usual, 4> usual = {{{Operation::allreduce, "recursive_doubling"},
                                         {Operation::reduce, "binomial"},
                                         {Operation::bcast, "binomial"},
                                         {Operation::barrier, "dissemination"}}};

AgentShare::Between usual_for(Operation operation) {
  for (const Usual& one : usual) {
    if (one.operation != operation) continue;
    const algorithms::Descriptor* algorithm = algorithms::find(operation, one.algorithm);
    return {.algorithm = algorithm,
            .parameters = algorithms::with_standards(*algorithm),
            .text = std::string(one.algorithm)};
  }
  return {};
}

// Empty where agents can run it. All nodes are asked, so that all ranks find the same.
std::string why_not(const tuning::Choice& choice, int nodes, Operation operation, std::int64_t bytes) {
  if (choice.algorithm->engine == algorithms::Engine::agents) return "it stands for the agents themselves";
  schedule::Problem problem{.operation = operation, .size = nodes, .layout = agents::layout_between(nodes)};
  std::string why = algorithms::why_illegal(*choice.algorithm, problem, bytes, false, false);
  for (problem.rank = 0; why.empty() && problem.rank < nodes; ++problem.rank) {
    const auto form = agents::write_program(problem, choice.algorithm->build(problem, choice.parameters));
    if (!form) why = "it needs more than messages between nodes";
    if (form && form->size() > agents::most_schedule_bytes) why = "its schedule is too long for an agent";
  }
  return why;
}

}  // namespace

BetweenNodes::BetweenNodes(const World& world) : world_(world) {
  if (world.options.agents_algorithm.empty()) return;
  std::vector<std::string> warnings;
  asked_ = tuning::make_forced(world.options.agents_algorithm, &warnings);
  for (std::string& warning : warnings) world.notices().warn_once("agents: " + std::move(warning));
}

const AgentShare::Between& BetweenNodes::of(AgentShare& share, int nodes, Operation operation,
                                            std::int64_t bytes) const {
  const int size_class = tuning::size_class(bytes);
  auto& kept = share.between[static_cast<std::size_t>(operation)][static_cast<std::size_t>(size_class)];
  if (!kept) kept = choose(nodes, operation, tuning::class_high(size_class));
  return *kept;
}

AgentShare::Between BetweenNodes::choose(int nodes, Operation operation, std::int64_t bytes) const {
  AgentShare::Between found = usual_for(operation);
  if (asked_ == nullptr || found.algorithm == nullptr) return found;
  tuning::Question question;
  question.problem.operation = operation;
  for (const tuning::Choice& choice : asked_->candidates(question)) {
    if (choice.algorithm == nullptr) return {};
    tuning::Choice whole = choice;
    whole.parameters = algorithms::with_standards(*choice.algorithm, choice.parameters);
    const std::string why = why_not(whole, nodes, operation, bytes);
    if (why.empty())
      return {.algorithm = whole.algorithm, .parameters = whole.parameters, .text = choice.text()};
    world_.notices().warn_once("agents do not go by " + choice.text() + " for " +
                               std::string(name(operation)) + " between " + std::to_string(nodes) +
                               " nodes: " + why);
  }
  return found;
}

}  // namespace unisono::runtime
