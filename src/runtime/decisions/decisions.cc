// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/decisions/decisions.h"

#include <utility>

#include "base/log.h"
#include "runtime/communicators/call_queue.h"
#include "runtime/communicators/learned_class.h"
#include "runtime/engines/schedules.h"

namespace unisono::runtime {

void Decisions::decide_anew(Communicator& c, Operation operation,
                            const std::function<bool(const CallClass&)>& is_asked) {
  const auto op = static_cast<std::size_t>(operation);
  const auto go_through = [&](ClassTable* table, CallForm form) {
    if (table == nullptr) return;
    for (auto& by_class : *table) {
      for (int size_class = 0; size_class < tuning::size_class_count; ++size_class) {
        CallClass& entry = by_class[static_cast<std::size_t>(size_class)];
        if (entry.choice == nullptr || !is_asked(entry)) continue;
        records_.lock()->absorb(c, operation, size_class, entry, form);
        entry = CallClass();
      }
    }
  };
  c.forget_calls(operation);
  go_through(c.classes[op].get(), CallForm::blocking);
  for (auto& [region, tables] : c.learning.region_classes) go_through(tables[op].get(), CallForm::blocking);
  if (c.queue == nullptr) return;
  go_through(c.queue->classes[op].get(), CallForm::non_blocking);
  go_through(c.queue->persistent[op].get(), CallForm::persistent);
}

void Decisions::give_up_single_copy(Communicator& c) {
  c.has_single_copy = false;
  const auto is_out = [](const CallClass& entry) {
    return entry.choice != nullptr && entry.choice->algorithm != nullptr &&
           entry.choice->algorithm->legality.needs_single_copy;
  };
  for (int op = 0; op < operation_count; ++op) {
    decide_anew(c, static_cast<Operation>(op),
                [&](const CallClass& entry) { return any_candidate(entry, is_out); });
  }
  world_.notices().note_once(
      "the kernel refuses to let ranks read each other's memory, though it did not at the start: calls go on "
      "without single copy");
}

bool Decisions::force(const std::string& text) {
  std::vector<std::string> problems;
  std::unique_ptr<tuning::Chooser> forced = tuning::make_forced(text, &problems);
  for (const std::string& problem : problems) {
    if (world_.notices().is_speaker()) log::warning(problem);
  }
  if (!problems.empty()) return false;
  decider_.lock()->set_forced(std::move(forced));
  return true;
}

tuning::Question Decisions::question(const Communicator& c, const Call& call, bool is_commutative,
                                     std::int64_t bytes, bool is_blocking) const {
  tuning::Question question{.problem = problem_of(c, call, is_commutative),
                            .size_class = tuning::size_class(bytes),
                            .has_shared_memory = c.node.slice != nullptr,
                            .has_single_copy = c.has_single_copy,
                            .has_streams = c.node.slice != nullptr && c.node.slice->has_streams(),
                            .is_blocking = is_blocking,
                            .may_ask_again = !call.is_persistent && !c.is_reproducible,
                            .may_send = is_blocking || may_send_aside(c),
                            .is_oversubscribed = c.is_oversubscribed,
                            .mpi = world_.host.library_name(),
                            .quarantined = &c.checking.quarantined,
                            .left_out = &left_out_};
  if (is_blocking) question.why_no_agents = agents_.why_not_blocking(c, call, question.bytes());
  // One decision serves every root.
  question.problem.rank = question.problem.root = 0;
  question.region = regions_.name(c.learning.regions.agreed(c.calls == 0 ? 0 : c.calls - 1));
  return question;
}

tuning::Choice Decisions::choose(const tuning::Question& question) {
  const auto decider = decider_.lock();
  tuning::Choice choice = decider->decide(question);
  if (choice.is_for_progress && !world_.may_call_host_aside)
    has_left_for_progress_.store(true, std::memory_order_relaxed);
  for (std::string& warning : decider->take_warnings()) world_.notices().warn_once(std::move(warning));
  return choice;
}

std::vector<tuning::Considered> Decisions::consider(const tuning::Question& question) {
  return decider_.lock()->consider(question);
}

tuning::Question Decisions::decide(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                                   std::int64_t bytes, bool is_blocking, const tuning::Choice* learned) {
  tuning::Question asked = question(c, call, is_commutative, bytes, is_blocking);
  // A class has calls of many operators and types.
  if (is_blocking) asked.why_no_agents = agents_.why_none_blocking(c, call.operation, asked.bytes());
  asked.may_be_tested = tuning::may_be_tested(world_.options, call.operation, is_blocking, c.is_reproducible);
  const bool is_learned = learned != nullptr && tuning::why_not_taken(*learned, asked).empty();
  entry.choice = std::make_unique<tuning::Choice>(is_learned ? *learned : choose(asked));
  entry.kind = kind_of(c, *entry.choice, asked.problem);
  return asked;
}

void Decisions::decide_without_agents(Communicator& c, CallClass& entry, const Call& call,
                                      bool is_commutative, std::int64_t bytes, std::string why) {
  tuning::Question asked = question(c, call, is_commutative, bytes, true);
  asked.why_no_agents = std::move(why);
  entry.choice = std::make_unique<tuning::Choice>(choose(asked));
  entry.kind = kind_of(c, *entry.choice, asked.problem);
}

}  // namespace unisono::runtime
