// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/decision.h"

#include <algorithm>
#include <cstddef>

#include "base/options.h"
#include "tuning/decisions/size_class.h"

namespace unisono::tuning {

std::string class_label(int size_class) {
  const std::int64_t bytes = class_high(size_class);
  for (const auto& [unit, bits] : {std::pair{" GiB", 30}, {" MiB", 20}, {" KiB", 10}}) {
    if (bytes >> bits != 0) return std::to_string(bytes >> bits) + unit;
  }
  return std::to_string(bytes) + " B";
}

std::int64_t Question::bytes() const {
  return class_high(size_class);
}

int Question::largest_node() const {
  std::size_t most = 1;
  for (const auto& ranks : problem.layout->ranks_of) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

bool names_mpi(std::string_view name, std::string_view mpi) {
  if (!mpi.starts_with(name)) return false;
  return mpi.size() == name.size() || mpi[name.size()] == ' ' || mpi[name.size()] == '.';
}

std::string Choice::text() const {
  std::string inside;
  for (const auto& [key, value] : parameters.values()) {
    inside += (inside.empty() ? "" : ",") + key + "=" + std::to_string(value);
  }
  return inside.empty() ? std::string(name()) : std::string(name()) + "(" + inside + ")";
}

namespace {

// Empty: it is not.
std::string why_quarantined(const Choice& choice, const Question& question) {
  if (question.quarantined != nullptr && question.quarantined->contains(choice.algorithm))
    return "its result was not the MPI's";
  if (question.left_out == nullptr) return {};
  const auto found = question.left_out->find(choice.algorithm);
  return found == question.left_out->end() ? std::string() : found->second;
}

// They are never taken for what is only like what was measured.
std::string why_not_by_agents(const Choice& choice, const Question& question) {
  if (!question.is_blocking)
    return "is chosen for blocking calls alone: agents take the others by themselves";
  if (std::ranges::any_of(choice.leans_on, &LeanedOn::is_near))
    return "was measured for calls like these, and not for these";
  return question.why_no_agents;
}

}  // namespace

bool may_be_tested(const Options& options, Operation operation, bool is_blocking, bool is_reproducible) {
  return options.startup_test > 0 && options.learn == "off" && is_blocking && !has_uneven_blocks(operation) &&
         !is_reproducible;
}

std::string why_not_taken(const Choice& choice, const Question& question) {
  if (choice.algorithm == nullptr)
    return question.problem.is_reproducible ? "joins operands in whatever order the MPI has" : "";
  if (const std::string why = why_quarantined(choice, question); !why.empty())
    return "is quarantined: " + why;
  if (choice.algorithm->engine == algorithms::Engine::agents) return why_not_by_agents(choice, question);
  const algorithms::Legality& legality = choice.algorithm->legality;
  const bool may_start = !legality.waits_inside || (legality.is_asked_again && question.may_ask_again);
  if (!may_start && !question.is_blocking) return "waits inside, which calls that do not block must not";
  if (!legality.needs_one_node && !question.may_send) return std::string(needs_progress);
  return algorithms::why_illegal(*choice.algorithm, question.problem, question.bytes(),
                                 question.has_shared_memory, question.has_single_copy);
}

std::vector<Chooser*> Decider::in_order() const {
  std::vector<Chooser*> list;
  if (forced_ != nullptr) list.push_back(forced_.get());
  for (const auto& chooser : choosers_) list.push_back(chooser.get());
  return list;
}

std::vector<Considered> Decider::consider(const Question& question) const {
  std::vector<Considered> all;
  for (Chooser* chooser : in_order()) {
    for (Choice& choice : chooser->candidates(question)) {
      std::string why = why_not_taken(choice, question);
      if (choice.algorithm != nullptr)
        choice.parameters = algorithms::with_standards(*choice.algorithm, choice.parameters);
      all.push_back({std::move(choice), std::move(why)});
    }
  }
  return all;
}

Choice Decider::decide(const Question& question) {
  std::string refused, without_progress;
  const auto by_the_host = [&](Choice choice) {
    if (!without_progress.empty()) {
      choice.is_for_progress = true;
      choice.reason = without_progress + " " + std::string(needs_progress);
    }
    choice.reason += refused;
    return choice;
  };
  for (Chooser* chooser : in_order()) {
    for (Choice& choice : chooser->candidates(question)) {
      const std::string why = why_not_taken(choice, question);
      if (why.empty()) {
        if (choice.algorithm == nullptr && choice.source != "forced") return by_the_host(std::move(choice));
        if (choice.algorithm != nullptr)
          choice.parameters = algorithms::with_standards(*choice.algorithm, choice.parameters);
        choice.reason += refused;
        return choice;
      }
      if (why == needs_progress && without_progress.empty()) without_progress = choice.name();
      if (choice.source == "forced") {
        const std::string what =
            std::string(name(question.problem.operation)) + ":" + std::string(choice.name());
        // Once, where it is met first; the report has the reason beside every class.
        if (refusals_.insert(what + why).second) {
          warnings_.push_back(what + " is refused: it " + why + " (" + question.problem.layout->describe() +
                              ", " + class_label(question.size_class) + ")");
        }
        refused = " (" + what + " was forced but " + why + ")";
      } else if (!why_quarantined(choice, question).empty()) {
        refused += " (" + choice.algorithm->name + " " + why + ")";
      } else if (choice.is_asked_for) {
        refused += " (" + std::string(choice.source) + " asks for " + std::string(choice.name()) +
                   ", but it " + why + ")";
      }
    }
  }
  if (question.problem.is_reproducible) {
    const std::string why = std::string(name(question.problem.operation)) +
                            " is not reproducible: no algorithm that keeps the one order is left" + refused;
    if (refusals_.insert(why).second) warnings_.push_back(why);
    return {.reason = why};
  }
  return by_the_host({.reason = "no rule has a faster algorithm for this case"});
}

}  // namespace unisono::tuning
