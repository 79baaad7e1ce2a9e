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
  const bool is_fused = choice.algorithm->name == "fused" && c.layout->nodes() == 1 && is_in_order;
  return is_fused ? CallClass::Kind::fused : CallClass::Kind::scheduled;
}

}  // namespace unisono::runtime
