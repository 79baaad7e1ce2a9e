// SPDX-License-Identifier: BSD-3-Clause
// Decisions that are made once more, and those that the program asks for (include/unisono/unisono.h).
#include "base/log.h"
#include "runtime/job.h"
#include "runtime/learning.h"

namespace unisono::runtime {

void Job::decide_anew(Communicator& c, Operation operation,
                      const std::function<bool(const CallClass&)>& is_asked) {
  const auto op = static_cast<std::size_t>(operation);
  const auto go_through = [&](ClassTable* table, CallForm form) {
    if (table == nullptr) return;
    for (auto& by_class : *table) {
      for (int size_class = 0; size_class < tuning::size_class_count; ++size_class) {
        CallClass& entry = by_class[static_cast<std::size_t>(size_class)];
        if (entry.choice == nullptr || !is_asked(entry)) continue;
        {
          const std::lock_guard lock(table_mutex_);
          records_.absorb(c, operation, size_class, entry, form);
        }
        entry = CallClass();
      }
    }
  };
  c.forget_calls(operation);
  go_through(c.classes[op].get(), CallForm::blocking);
  for (auto& [region, tables] : c.region_classes) go_through(tables[op].get(), CallForm::blocking);
  if (c.queue == nullptr) return;
  go_through(c.queue->classes[op].get(), CallForm::non_blocking);
  go_through(c.queue->persistent[op].get(), CallForm::persistent);
}

bool Job::set_algorithm(const std::string& text) {
  std::vector<std::string> problems;
  std::unique_ptr<tuning::Chooser> forced = tuning::make_forced(text, &problems);
  for (const std::string& problem : problems) {
    if (world_rank_ == 0) log::warning(problem);
  }
  if (!problems.empty()) return false;
  is_told_algorithm_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(decide_mutex_);
    decider_.set_forced(std::move(forced));
  }
  std::vector<Communicator*> all;
  {
    const std::lock_guard lock(table_mutex_);
    for (const auto& [handle, c] : table_) all.push_back(c.get());
  }
  const std::lock_guard lock(progress_mutex_);
  for (Communicator* c : all) {
    for (int op = 0; op < operation_count; ++op) {
      decide_anew(*c, static_cast<Operation>(op), [](const CallClass&) { return true; });
    }
  }
  return true;
}

std::optional<tuning::Choice> Job::decision(Operation operation, std::int64_t bytes,
                                            std::optional<host::Comm> handle) {
  Communicator* c = find_set_up(handle.value_or(host_.world()));
  if (c == nullptr || c->native_reason != NativeReason::none) return std::nullopt;
  const Call call{.operation = operation, .comm = c->handle};
  const std::int64_t deciding = is_decided_by_bytes(operation) ? bytes : 0;
  const CallClass& entry = c->call_class(operation, true, deciding, c->regions.agreed(c->calls));
  if (entry.kind == CallClass::Kind::learned) {
    const auto chosen = static_cast<std::size_t>(entry.learned->learner.policy().chosen());
    return *entry.learned->blocking[chosen].choice;
  }
  return choose(question(*c, call, true, deciding, true));
}

CallClass::Kind Job::kind_of(const Communicator& c, const tuning::Choice& choice,
                             const schedule::Problem& what) {
  if (choice.algorithm == nullptr) return CallClass::Kind::native;
  // The slice's own reductions join from the left, which is the reproducible order of scans, and of others
  // among few ranks alone.
  constexpr int most_from_left = 3;
  const bool is_in_order = !what.is_reproducible || is_scan(what.operation) || c.size <= most_from_left;
  const bool is_fused =
      choice.algorithm->engine == algorithms::Engine::fused && c.layout->nodes() == 1 && is_in_order;
  return is_fused ? CallClass::Kind::fused : CallClass::Kind::scheduled;
}

bool Job::is_commutative(const Communicator& c, const Call& call) const {
  return !is_reduction(call.operation) || (!c.is_reproducible && host_.is_commutative(call.op));
}

schedule::Problem Job::problem(const Communicator& c, const Call& call, bool is_commutative) const {
  return {.operation = call.operation,
          .size = c.size,
          .rank = c.rank,
          .root = is_rooted(call.operation) ? call.root : 0,
          .is_commutative = is_commutative,
          .is_reproducible = c.is_reproducible && is_reduction(call.operation),
          .layout = c.layout};
}

tuning::Question Job::question(const Communicator& c, const Call& call, bool is_commutative,
                               std::int64_t bytes, bool is_blocking) {
  tuning::Question question{.problem = problem(c, call, is_commutative),
                            .size_class = tuning::size_class(bytes),
                            .has_shared_memory = c.slice != nullptr,
                            .has_single_copy = c.has_single_copy,
                            .has_streams = c.slice != nullptr && c.slice->has_streams(),
                            .is_blocking = is_blocking,
                            .may_send = is_blocking || may_send_aside(c),
                            .is_oversubscribed = c.is_oversubscribed,
                            .mpi = host_.library_name(),
                            .quarantined = &c.quarantined,
                            .left_out = &left_out_};
  // One decision serves every root.
  question.problem.rank = question.problem.root = 0;
  question.region = region_name(c.regions.agreed(c.calls == 0 ? 0 : c.calls - 1));
  return question;
}

tuning::Choice Job::choose(const tuning::Question& question) {
  const std::lock_guard lock(decide_mutex_);
  tuning::Choice choice = decider_.decide(question);
  has_left_for_progress_ = has_left_for_progress_ || (choice.is_for_progress && !may_call_host_aside_);
  for (const std::string& warning : decider_.take_warnings()) {
    warnings_.push_back(warning);
    if (world_rank_ == 0) log::warning_once(warning);
  }
  return choice;
}

void Job::decide(Communicator& c, CallClass& entry, const Call& call, bool is_commutative, std::int64_t bytes,
                 bool is_blocking, const tuning::Choice* learned) {
  tuning::Question asked = question(c, call, is_commutative, bytes, is_blocking);
  asked.may_be_tested = tuning::may_be_tested(options_, call.operation, is_blocking, c.is_reproducible);
  const bool is_learned = learned != nullptr && tuning::why_not_taken(*learned, asked).empty();
  entry.choice = std::make_unique<tuning::Choice>(is_learned ? *learned : choose(asked));
  entry.kind = kind_of(c, *entry.choice, asked.problem);
  if (is_blocking && is_learning()) return begin_to_learn(c, entry, asked);
  entry.is_to_be_tested = asked.may_be_tested && is_worth_a_test(*entry.choice);
  if (options_.startup_after == 0) entry.first_test = 0;
}

}  // namespace unisono::runtime
