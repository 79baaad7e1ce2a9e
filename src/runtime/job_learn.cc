// SPDX-License-Identifier: BSD-3-Clause
// Learning while the program runs (S2-S5, B2): which calls are looked at, and how ranks agree on what they
// saw. All ranks know from the numbers of their calls when that is; nothing but what was agreed on decides.
// docs/learning.md.
#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/log.h"
#include "base/reduce_kernels.h"
#include "base/shown.h"
#include "runtime/job.h"
#include "runtime/learning.h"
#include "tuning/knowledge.h"

namespace unisono::runtime {
namespace {

constexpr std::uint64_t digest_limit = std::uint64_t{1} << 61;
// Two numbers of an agreement are the regions' digest, and what it falls short of the limit by: the least of
// both are of one rank where all ranks' are equal.
constexpr std::size_t region_numbers = 2;

// Does no rank leave before all ranks' data has come to it? Elsewhere the shortest time is that of a rank
// that only puts its message on the way.
bool synchronises(Operation operation) {
  return !is_rooted(operation) && !is_scan(operation);
}

// What a program calls its regions, and how many it has, is bounded: each has its own knowledge.
constexpr std::size_t most_region_bytes = 200, most_regions = 1000;

// Names come from the program: a digest tells them apart, and is the same on all ranks.
std::uint64_t region_number(const std::string& name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash | 1;  // 0: no region
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

}  // namespace

CallClass& Job::class_of(Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes) {
  for (;;) {
    CallClass& entry = c.call_class(call.operation, is_commutative, bytes, c.regions.agreed(c.calls - 1));
    if (entry.kind == CallClass::Kind::undecided) [[unlikely]]
      decide(c, entry, call, is_commutative, bytes);
    if (entry.is_next_test_due()) [[unlikely]] {
      if (is_learning()) {
        entry.is_to_be_tested = false;
        learn(c, entry, question(c, call, is_commutative, bytes, true));
      } else {
        test_at_start(c, entry, call, is_commutative, bytes);
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
void Job::begin_to_learn(Communicator& c, CallClass& entry, const tuning::Question& question) {
  if (entry.choice->source == "forced") return;
  const std::uint32_t calls = tuning::calls_before_learning(question, learn_settings_.budget_share);
  const bool is_known = entry.choice->source == tuning::learned_source;
  if (calls == 0 || learn_mode_ == LearnMode::star || is_known) return learn(c, entry, question);
  entry.is_to_be_tested = true;
  entry.first_test = calls;
}

void Job::learn(Communicator& c, CallClass& entry, const tuning::Question& question) {
  const double start_s = now_s();
  tuning::Question unlearned = question;
  unlearned.forgets_learned = true;
  const tuning::Choice decided =
      entry.choice->source == tuning::learned_source ? choose(unlearned) : *entry.choice;
  const std::uint64_t region = c.regions.agreed(c.calls - 1);
  const Operation operation = question.problem.operation;
  if (learned_sizes(c.tables_of(region), operation) >= options_.learn_sizes) return;
  const tuning::Kind kind = tuning::kind_of(question);
  Alike alike;
  if (learn_mode_ == LearnMode::guarded) {
    alike = find_alike(c, kind);
    if (alike.is_being_learned && waits_for_alike(entry, question)) return ask_later(entry);
  }
  tuning::CandidateList list = tuning::candidates_of(question, decided, predict_);
  if (list.choices.size() < 2) return;
  const auto count = static_cast<int>(list.choices.size());
  if (known_rules_) tuning::add_known_times(*known_rules_, question, decided, &list);
  tuning::add_times_of_neighbours(*entry.choice, &list);
  begin_as_alike(c, alike, &list);
  for (tuning::Choice& choice : list.choices) {
    if (choice.source != "native" && choice.source != decided.source) choice.source = "learned";
    if (choice.reason.empty()) choice.reason = "tried while the program ran (option 'learn')";
  }
  // That the first operations meet memory that nobody has touched is no fault of what comes first.
  if (c.slice != nullptr) c.slice->touch_rings();
  tuning::LearnSettings settings = learn_settings_;
  settings.trusts_least_times = synchronises(operation) && !c.is_oversubscribed;
  auto policy = learn_mode_ == LearnMode::star
                    ? tuning::make_star_policy(list.candidates, settings)
                    : tuning::make_guarded_policy(list.candidates, settings, &c.budget);
  tuning::Learner learner(count, settings, std::move(policy), !synchronises(operation));
  entry.learned = std::make_shared<LearnedClass>(&c, std::string(question.region), list, std::move(learner));
  entry.learned->region_number = region;
  entry.learned->kind = kind;
  entry.learned->token = findings_.begin(kind);
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

void Job::agree_on_next(Communicator& c, LearnedClass& learned, const Call& call) {
  const double start_s = now_s();
  const std::uint64_t call_number = c.calls - 1;
  const std::uint64_t digest = c.regions.digest(call_number);
  std::vector<std::uint64_t> numbers = {digest, digest_limit - digest};
  const std::vector<std::uint64_t> own = learned.learner.numbers(learned.overhead_s);
  numbers.insert(numbers.end(), own.begin(), own.end());
  std::vector<std::uint64_t> sums = learned.learner.sums();
  const int error = sums.empty() ? agree_on_least(c, numbers.data(), numbers.size())
                                 : agree_on_least_and_sums(c, &numbers, &sums);
  if (error != host::success) host_.call_error_handler(call.comm, error);
  c.regions.agree(numbers[0] + numbers[1] == digest_limit, call_number);
  const bool was_measuring = !learned.learner.is_monitoring();
  learned.learner.agree(numbers.data() + region_numbers, sums.data(), learned.calls(), c.regions.is_in_use());
  if (was_measuring) keep_for_alike(learned);
  learned.settle();
  for (int op = 0; op < operation_count; ++op) c.forget_calls(static_cast<Operation>(op));
  learned.overhead_s = now_s() - start_s;
}

// By Unisono's own means, as its collectives are: calls under way go on meanwhile, and ranks that share cores
// do not wait as some hosts do.
int Job::agree_on_least(Communicator& c, std::uint64_t* numbers, std::size_t count) {
  const shm::Combine least{.element_bytes = sizeof *numbers,
                           .kernel = reduce_kernel(ReduceOp::min, ElementType::int64)};
  return agree_by(c, numbers, count, least);
}

// Of each of `sums`, which may be fewer, the sum; as one message.
int Job::agree_on_least_and_sums(Communicator& c, std::vector<std::uint64_t>* numbers,
                                 std::vector<std::uint64_t>* sums) {
  std::vector<tuning::LeastAndSum> both(std::max(numbers->size(), sums->size()));
  for (std::size_t i = 0; i < numbers->size(); ++i) both[i].least = (*numbers)[i];
  for (std::size_t i = 0; i < sums->size(); ++i) both[i].sum = (*sums)[i];
  const int error = agree_by(c, both.data(), both.size(),
                             {.element_bytes = sizeof both[0], .kernel = tuning::join_least_and_sum});
  for (std::size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] = both[i].least;
  for (std::size_t i = 0; i < sums->size(); ++i) (*sums)[i] = both[i].sum;
  return error;
}

int Job::agree_by(Communicator& c, void* elements, std::size_t count, const shm::Combine& combine) {
  const std::size_t bytes = combine.element_bytes;
  if (c.slice != nullptr && c.layout->nodes() == 1 && c.slice->fused_max_bytes() >= bytes) {
    const std::size_t most = c.slice->fused_max_bytes() / bytes;
    for (std::size_t done = 0; done < count; done += most) {
      void* part = static_cast<char*>(elements) + done * bytes;
      c.slice->allreduce(part, part, std::min(most, count - done), combine);
    }
    return host::success;
  }
  const Call call{.operation = Operation::allreduce, .is_in_place = true, .comm = c.handle};
  if (c.agreeing == nullptr) {
    const algorithms::Descriptor& doubling = *algorithms::find(Operation::allreduce, "recursive_doubling");
    schedule::Problem what = problem(c, call, true);
    what.is_in_place = true;
    what.is_reproducible = false;
    c.agreeing = schedule::compile(what, doubling.build(what, algorithms::with_standards(doubling)));
  }
  return execute(c, call, *c.agreeing,
                 {.output = elements,
                  .elements = static_cast<std::int64_t>(count),
                  .element_bytes = bytes,
                  .combine = combine});
}

// What a candidate's first calls alone would take, which says nothing about those that follow: its schedule
// is made, and memory is mapped that nobody has touched. It counts as what learning costs.
void Job::make_ready(Communicator& c, CallClass& candidate, const Call& call, std::int64_t bytes, int calls) {
  const bool is_uneven = has_uneven_blocks(call.operation);
  if (candidate.kind != CallClass::Kind::scheduled || (is_uneven && !has_known_blocks(call.operation)))
    return;
  const double start_s = now_s();
  const bool is_in_place = is_uneven ? c.work.blocks.is_in_place() : call.is_in_place && !needs_copy(call);
  const auto& made = compiled(c, candidate, call, is_in_place, candidate.learner->is_commutative);
  if (c.slice != nullptr)
    schedule::touch_slots(*made, *c.slice, bytes, static_cast<std::int64_t>(candidate.calls) - 1, calls);
  candidate.learner->overhead_s += now_s() - start_s;
}

// Where ranks do not wait for each other, who comes late would have the shortest time: such calls are looked
// at from a common beginning.
void Job::align(Communicator& c, LearnedClass& learned, const Call& call) {
  if (!learned.learner.is_next_aligned()) return;
  const double start_s = now_s();
  if (c.slice != nullptr && c.layout->nodes() == 1) {
    c.slice->barrier();
  } else {
    const Call barrier{.operation = Operation::barrier, .comm = c.handle};
    if (c.aligning == nullptr) {
      const algorithms::Descriptor& dissemination = *algorithms::find(Operation::barrier, "dissemination");
      const schedule::Problem what = problem(c, barrier, true);
      c.aligning =
          schedule::compile(what, dissemination.build(what, algorithms::with_standards(dissemination)));
    }
    const int error = execute(c, barrier, *c.aligning, {.elements = 1});
    if (error != host::success) host_.call_error_handler(call.comm, error);
  }
  learned.overhead_s += now_s() - start_s;
}

CallClass* Job::learned_class_of_start(Communicator& c, const Call& call, bool is_commutative,
                                       std::int64_t bytes, std::shared_ptr<LearnedClass>* whole) {
  if (!is_learning()) return nullptr;
  CallClass& entry = c.call_class(call.operation, is_commutative, bytes, c.regions.agreed(c.calls));
  if (entry.kind != CallClass::Kind::learned) return nullptr;
  const tuning::Policy& policy = entry.learned->learner.policy();
  const auto chosen = static_cast<std::size_t>(policy.chosen());
  // That the host's blocking collective is fast says nothing of its others.
  const bool is_known = policy.time_s(policy.chosen()) != tuning::unknown_s;
  if (!is_known || entry.learned->blocking[chosen].kind == CallClass::Kind::native) return nullptr;
  LearnedClass& learned = *entry.learned;
  CallClass& started = (call.is_persistent ? learned.persistent : learned.non_blocking)[chosen];
  if (started.kind == CallClass::Kind::undecided)
    decide(c, started, call, is_commutative, bytes, false, entry.learned->blocking[chosen].choice.get());
  *whole = entry.learned;
  return &started;
}

void Job::begin_region(const std::string& name) {
  if (!is_learning()) return;
  const std::string known = bounded(name, most_region_bytes);
  if (known.size() != name.size() && world_rank_ == 0) {
    log::warning_once("a region has a name of more than " + std::to_string(most_region_bytes) +
                      " bytes; it is called '" + known + "'");
  }
  std::uint64_t number = region_number(known);
  const std::lock_guard lock(region_mutex_);
  if (region_names_.size() < most_regions) {
    region_names_.try_emplace(number, known);
  } else if (!region_names_.contains(number)) {
    number = 0;
    if (world_rank_ == 0) {
      log::warning_once("the program has more than " + std::to_string(most_regions) +
                        " regions; the others are none (unisono_region_begin)");
    }
  }
  region_stack_.push_back(number);
  region_.store(number, std::memory_order_release);
  // Communicators look again at what they are in.
  generation_.fetch_add(1, std::memory_order_release);
}

void Job::end_region() {
  if (!is_learning()) return;
  const std::lock_guard lock(region_mutex_);
  if (region_stack_.empty()) {
    log::warning_once("a region was ended that was not begun (unisono_region_end)");
    return;
  }
  region_stack_.pop_back();
  region_.store(region_stack_.empty() ? 0 : region_stack_.back(), std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
}

void Job::say_open_regions() {
  if (region_stack_.empty() || world_rank_ != 0) return;
  warnings_.push_back("region '" + std::string(region_name(region_stack_.back())) +
                      "' was begun and never ended (unisono_region_end)");
  log::warning(warnings_.back());
}

std::string_view Job::region_name(std::uint64_t region) {
  const std::lock_guard lock(region_mutex_);
  const auto found = region_names_.find(region);
  return found == region_names_.end() ? std::string_view() : found->second;
}

}  // namespace unisono::runtime
