// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/learning/learning.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/packing/transfer.h"
#include "schedule/executor.h"
#include "tuning/decisions/prediction.h"
#include "tuning/tables/knowledge.h"

namespace unisono::runtime {
namespace {

constexpr std::uint64_t digest_limit = std::uint64_t{1} << 61;
// Two numbers of an agreement are the regions' digest, and what it falls short of the limit by. Where all
// ranks' are equal the least of both are of one rank.
constexpr std::size_t region_numbers = 2;
// Predictions are made while the program waits: they must not take longer than many calls.
constexpr std::int64_t most_steps = 20'000;
constexpr double us = 1e-6;
// Communicators whose calls alternate would begin at the same time: the others wait for what the first one
// finds, for so many times as many calls at most.
constexpr std::uint64_t most_waiting = 8;

// Does no rank leave before all ranks' data has come to it? Elsewhere the shortest time is that of a rank
// that only puts its message on the way.
bool synchronises(Operation operation) {
  return !is_rooted(operation) && !is_scan(operation);
}

int learned_sizes(const OperationTables& tables, Operation operation) {
  const auto& table = tables[static_cast<std::size_t>(operation)];
  if (table == nullptr) return 0;
  int count = 0;
  for (const auto& by_class : *table) {
    for (const CallClass& entry : by_class) count += entry.kind == CallClass::Kind::learned ? 1 : 0;
  }
  return count;
}

// Less and less often.
void ask_later(CallClass& entry) {
  entry.test.is_to_come = true;
  entry.test.first_call = std::max(2 * static_cast<std::uint32_t>(entry.calls), tuning::first_common_call);
}

// What is expected of algorithms before they are tried; empty where nobody asks.
tuning::Predict predict_on(const World& world, bool is_asked) {
  if (!is_asked || !world.machine) return {};
  return [machine = *world.machine](const tuning::Question& question, const tuning::Choice& choice) {
    const model::Candidate asked{choice.algorithm, choice.parameters};
    return tuning::predicted_us(question, asked, machine, most_steps).value_or(0) * us;
  };
}

}  // namespace

Learning::Learning(const World& world, Decisions& decisions, const Schedules& schedules)
    : world_(world),
      decisions_(decisions),
      mode_(world.options.learn == "star"   ? Mode::star
            : world.options.learn == "auto" ? Mode::guarded
                                            : Mode::off),
      settings_{.iterations = static_cast<int>(world.options.learn_iterations),
                .tolerance = world.options.learn_tolerance / 100,
                .most_factor = static_cast<int>(world.options.learn_factor),
                .has_groups = world.options.learn_groups,
                .prune = world.options.learn_prune / 100,
                .budget_share = world.options.learn_budget / 100},
      predict_(predict_on(world, mode_ == Mode::guarded ||
                                     (mode_ == Mode::star && world.options.learn_prune > 0) ||
                                     (mode_ == Mode::off && world.options.startup_test > 0))),
      agreements_(world, schedules),
      alike_(world, agreements_),
      test_(world, decisions, schedules, agreements_, predict_) {}

void Learning::begin_with(const std::vector<tuning::SourcedTable>& tables) {
  const bool has_kept = std::ranges::any_of(tables, [](const tuning::SourcedTable& sourced) {
    return sourced.source == tuning::learned_source && !sourced.table.rules.empty();
  });
  if (is_on() || has_kept) known_rules_.emplace(tables);
}

CallClass& Learning::class_of(Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes) {
  for (;;) {
    CallClass& entry =
        c.call_class(call.operation, is_commutative, bytes, c.learning.regions.agreed(c.calls - 1));
    if (entry.kind == CallClass::Kind::undecided) [[unlikely]] {
      const tuning::Question asked = decisions_.decide(c, entry, call, is_commutative, bytes, true);
      is_on() ? begin(c, entry, decisions_.question(c, call, is_commutative, bytes, true))
              : test_.plan(entry, asked);
    }
    if (entry.is_next_test_due()) [[unlikely]] {
      if (is_on()) {
        entry.test.is_to_come = false;
        learn(c, entry, decisions_.question(c, call, is_commutative, bytes, true));
      } else {
        test_.run(c, entry, call, is_commutative, bytes);
      }
    }
    if (entry.kind != CallClass::Kind::learned) return entry;
    LearnedClass& learned = *entry.learned;
    if (!learned.learner.is_due() || !learned.now().is_next_timed()) return learned.now();
    agree_on_next(c, learned, call);  // which may lead to another region
  }
}

// Before a kind of calls has earned what learning takes, what is used without learning serves it, and nothing
// is looked at. Not where earlier jobs know better: what they know is used, and compared again soon.
void Learning::begin(Communicator& c, CallClass& entry, const tuning::Question& question) {
  if (entry.choice->source == "forced") return;
  const std::uint32_t calls = tuning::calls_before_learning(question, settings_.budget_share);
  const bool is_known = entry.choice->source == tuning::learned_source;
  if (calls == 0 || mode_ == Mode::star || is_known) return learn(c, entry, question);
  entry.test.is_to_come = true;
  entry.test.first_call = calls;
}

void Learning::learn(Communicator& c, CallClass& entry, const tuning::Question& question) {
  const double start_s = now_s();
  tuning::Question unlearned = question;
  unlearned.forgets_learned = true;
  const tuning::Choice decided =
      entry.choice->source == tuning::learned_source ? decisions_.choose(unlearned) : *entry.choice;
  const std::uint64_t region = c.learning.regions.agreed(c.calls - 1);
  const Operation operation = question.problem.operation;
  if (learned_sizes(c.tables_of(region), operation) >= world_.options.learn_sizes) return;
  const tuning::Kind kind = tuning::kind_of(question);
  AlikeCommunicators::Known alike;
  if (mode_ == Mode::guarded) {
    alike = alike_.find(c, kind);
    if (alike.is_being_learned && waits_for_alike(entry, question)) return ask_later(entry);
  }
  tuning::CandidateList list = tuning::candidates_of(question, decided, predict_);
  if (list.choices.size() < 2) return;
  if (known_rules_) tuning::add_known_times(*known_rules_, question, decided, &list);
  tuning::add_times_of_neighbours(*entry.choice, &list);
  alike_.begin(c, alike, &list);
  for (tuning::Choice& choice : list.choices) {
    if (choice.source != "native" && choice.source != decided.source) choice.source = "learned";
    if (choice.reason.empty()) choice.reason = "tried while the program ran (option 'learn')";
  }
  // That the first operations meet memory that nobody has touched is no fault of what comes first.
  if (c.node.slice != nullptr) c.node.slice->touch_rings();
  tuning::Learner learner = learner_for(c, list, operation);
  entry.learned = std::make_shared<LearnedClass>(&c, std::string(question.region), list, std::move(learner));
  entry.learned->region_number = region;
  entry.learned->kind = kind;
  entry.learned->token = findings().begin(kind);
  entry.learned->leans_on = entry.choice->leans_on;
  entry.learned->told = {entry.choice->algorithm, entry.choice->parameters};
  entry.learned->is_commutative = question.problem.is_commutative;
  for (CallClass& of_candidate : entry.learned->blocking)
    of_candidate.kind = kind_of(c, *of_candidate.choice, question.problem);
  if (entry.calls != 0) entry.learned->take_over(&entry);
  entry.learned->settle();
  entry.learned->overhead_s = now_s() - start_s;
  entry.kind = CallClass::Kind::learned;
  c.forget_calls(operation);
}

tuning::Learner Learning::learner_for(Communicator& c, const tuning::CandidateList& list,
                                      Operation operation) const {
  tuning::LearnSettings settings = settings_;
  settings.trusts_least_times = synchronises(operation) && !c.is_oversubscribed;
  auto policy = mode_ == Mode::star
                    ? tuning::make_star_policy(list.candidates, settings)
                    : tuning::make_guarded_policy(list.candidates, settings, &c.learning.budget);
  return {static_cast<int>(list.choices.size()), settings, std::move(policy), !synchronises(operation)};
}

bool Learning::waits_for_alike(const CallClass& entry, const tuning::Question& question) const {
  return entry.calls != 0 &&
         entry.calls < most_waiting * tuning::calls_before_learning(question, settings_.budget_share);
}

void Learning::agree_on_next(Communicator& c, LearnedClass& learned, const Call& call) {
  const double start_s = now_s();
  const std::uint64_t call_number = c.calls - 1;
  const std::uint64_t digest = c.learning.regions.digest(call_number);
  std::vector<std::uint64_t> numbers = {digest, digest_limit - digest};
  const std::vector<std::uint64_t> own = learned.learner.numbers(learned.overhead_s);
  numbers.insert(numbers.end(), own.begin(), own.end());
  std::vector<std::uint64_t> sums = learned.learner.sums();
  const int error = sums.empty() ? agreements_.least(c, numbers.data(), numbers.size())
                                 : agreements_.least_and_sums(c, &numbers, &sums);
  if (error != host::success) world_.host.call_error_handler(call.comm, error);
  c.learning.regions.agree(numbers[0] + numbers[1] == digest_limit, call_number);
  const bool was_measuring = !learned.learner.is_monitoring();
  learned.learner.agree(numbers.data() + region_numbers, sums.data(), learned.calls(),
                        c.learning.regions.is_in_use());
  if (was_measuring) alike_.keep(learned);
  learned.settle();
  for (int op = 0; op < operation_count; ++op) c.forget_calls(static_cast<Operation>(op));
  learned.overhead_s = now_s() - start_s;
}

// What a candidate's first calls alone would take, which says nothing about those that follow: its schedule
// is made, and memory is mapped that nobody has touched. It counts as what learning costs.
void Learning::make_ready(Communicator& c, CallClass& candidate, const Call& call, std::int64_t bytes,
                          int calls) const {
  const bool is_uneven = has_uneven_blocks(call.operation);
  if (candidate.kind != CallClass::Kind::scheduled || (is_uneven && !has_known_blocks(call.operation)))
    return;
  const double start_s = now_s();
  const bool is_in_place = is_uneven ? c.work.blocks.is_in_place() : call.is_in_place && !needs_copy(call);
  const auto& made = Schedules::compiled(c, candidate, call, is_in_place, candidate.learner->is_commutative);
  if (c.node.slice != nullptr)
    schedule::touch_slots(*made, *c.node.slice, bytes, static_cast<std::int64_t>(candidate.calls) - 1, calls);
  candidate.learner->overhead_s += now_s() - start_s;
}

// Where ranks do not wait for each other, who comes late would have the shortest time: such calls are looked
// at from a common beginning.
void Learning::align(Communicator& c, LearnedClass& learned, const Call& call) const {
  if (!learned.learner.is_next_aligned()) return;
  const double start_s = now_s();
  const int error = agreements_.meet(c);
  if (error != host::success) world_.host.call_error_handler(call.comm, error);
  learned.overhead_s += now_s() - start_s;
}

CallClass* Learning::class_of_start(Communicator& c, const Call& call, bool is_commutative,
                                    std::int64_t bytes, std::shared_ptr<LearnedClass>* whole) {
  if (!is_on()) return nullptr;
  CallClass& entry = c.call_class(call.operation, is_commutative, bytes, c.learning.regions.agreed(c.calls));
  if (entry.kind != CallClass::Kind::learned) return nullptr;
  const tuning::Policy& policy = entry.learned->learner.policy();
  const auto chosen = static_cast<std::size_t>(policy.chosen());
  // That the host's blocking collective is fast says nothing of its others.
  const bool is_known = policy.time_s(policy.chosen()) != tuning::unknown_s;
  if (!is_known || entry.learned->blocking[chosen].kind == CallClass::Kind::native) return nullptr;
  LearnedClass& learned = *entry.learned;
  CallClass& started = (call.is_persistent ? learned.persistent : learned.non_blocking)[chosen];
  if (started.kind == CallClass::Kind::undecided)
    decisions_.decide(c, started, call, is_commutative, bytes, false,
                      entry.learned->blocking[chosen].choice.get());
  *whole = entry.learned;
  return &started;
}

void Learning::prepare(Communicator& c, CallClass& candidate, const Call& call, std::int64_t bytes) {
  const int batch = candidate.learner->learner.batch_to_come();
  if (candidate.calls == 1 || batch != 0) make_ready(c, candidate, call, bytes, batch);
  align(c, *candidate.learner, call);
}

std::optional<tuning::Choice> Learning::choice_for(Communicator& c, Operation operation, std::int64_t bytes,
                                                   bool is_blocking) {
  const Call call{.operation = operation, .comm = c.handle};
  const std::int64_t deciding = is_decided_by_bytes(operation) ? bytes : 0;
  const CallClass& entry = c.call_class(operation, true, deciding, c.learning.regions.agreed(c.calls));
  if (entry.kind == CallClass::Kind::learned) {
    const auto chosen = static_cast<std::size_t>(entry.learned->learner.policy().chosen());
    if (is_blocking) return *entry.learned->blocking[chosen].choice;
    const CallClass& started = entry.learned->non_blocking[chosen];
    if (started.kind != CallClass::Kind::undecided) return *started.choice;
  }
  return decisions_.choose(decisions_.question(c, call, true, deciding, is_blocking));
}

}  // namespace unisono::runtime
