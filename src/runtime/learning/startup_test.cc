// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/learning/startup_test.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/log.h"
#include "base/reduce_kernels.h"
#include "base/version.h"
#include "runtime/call/crash_site.h"
#include "runtime/decisions/known_tables.h"
#include "runtime/engines/fused_engine.h"
#include "tuning/learning/comparison.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/table_files.h"

namespace unisono::runtime {
namespace {

constexpr std::int64_t most_test_bytes = std::int64_t{256} << 20;
constexpr double least_batch_s = 200e-6;
constexpr double most_batch_calls = 50;
// What is predicted to take so many times as long as what is in use is not tried.
constexpr double most_slowdown = 3;
constexpr double us_per_s = 1e6;

bool is_worth_a_test(const tuning::Choice& choice) {
  const bool is_of_table = choice.source == tuning::application_source ||
                           choice.source == tuning::learned_source || choice.source == tuning::site_source;
  if (!is_of_table || choice.is_exact || choice.algorithm == nullptr) return false;
  return choice.algorithm->engine != algorithms::Engine::agents;  // a test runs schedules alone
}

}  // namespace

void StartupTest::plan(CallClass& entry, const tuning::Question& asked) const {
  entry.test.is_to_come = asked.may_be_tested && is_worth_a_test(*entry.choice);
  if (world_.options.startup_after == 0) entry.test.first_call = 0;
}

void StartupTest::run(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                      std::int64_t bytes) {
  // The job has run for as long as its youngest rank.
  const double most_s = 1e7;
  if (most_s - agreements_.longest(c, {most_s - (now_s() - world_.started_s)})[0] <
      static_cast<double>(world_.options.startup_after))
    return;
  entry.test.is_to_come = false;
  const tuning::Question asked = decisions_.question(c, call, is_commutative, bytes, true);
  Setting setting{.operation = call.operation,
                  .is_commutative = is_commutative,
                  .unit_bytes = std::max<std::int64_t>(bytes, 8)};
  if (2 * setting.unit_bytes * c.size > most_test_bytes) return;
  setting.input.resize(static_cast<std::size_t>(setting.unit_bytes * c.size));
  setting.output.resize(setting.input.size());
  std::vector<Tested> list = candidates(c, entry, asked);
  const std::size_t best = best_of(c, &list, setting);
  keep(asked, list, best);
  entry.choice = std::move(list[best].entry.choice);
  entry.kind = kind_of(c, *entry.choice, asked.problem);
  entry.last.compiled = nullptr;
  c.forget_calls(call.operation);
}

// Of a call, on this rank.
double StartupTest::batch_s(Communicator& c, Tested& tested, Setting& setting, int calls) const {
  agreements_.longest(c, {0.0});
  const double start_s = now_s();
  for (int i = 0; i < calls; ++i) run_once(c, tested.entry, setting);
  return (now_s() - start_s) / calls;
}

std::size_t StartupTest::best_of(Communicator& c, std::vector<Tested>* tested, Setting& setting) const {
  std::vector<Tested>& list = *tested;
  const double start_s = now_s();
  const auto most_test_s = static_cast<double>(world_.options.startup_test);
  std::size_t best = 0;
  list[0].time_s = agreements_.longest(c, {batch_s(c, list[0], setting, 2)})[0];
  for (std::size_t k = 1; k < list.size(); ++k) {
    batch_s(c, list[k], setting, 1);  // makes its schedule
    std::vector<tuning::Round> rounds;
    tuning::Verdict verdict = tuning::Verdict::open;
    double elapsed_s = 0;
    while (verdict == tuning::Verdict::open && elapsed_s < most_test_s) {
      const auto calls =
          static_cast<int>(std::clamp(least_batch_s / list[best].time_s, 1.0, most_batch_calls));
      const double of_best_s = batch_s(c, list[best], setting, calls);
      const double of_other_s = batch_s(c, list[k], setting, calls);
      const std::vector<double> agreed = agreements_.longest(c, {of_best_s, of_other_s, now_s() - start_s});
      rounds.push_back({agreed[0], agreed[0], agreed[1], agreed[1]});
      elapsed_s = agreed[2];
      verdict = tuning::verdict_of(rounds, false);
    }
    if (rounds.empty()) break;
    // The machine may be busier than it was: what was found before keeps its distance from the best.
    const double best_s = tuning::median_of(rounds, &tuning::Round::best_s);
    const double change = list[best].time_s > 0 ? best_s / list[best].time_s : 1;
    for (std::size_t i = 0; i < k; ++i) list[i].time_s *= change;
    list[best].time_s = best_s;
    list[k].time_s = tuning::median_of(rounds, &tuning::Round::other_s);
    if (verdict == tuning::Verdict::won) best = k;
    if (elapsed_s >= most_test_s) break;
  }
  return best;
}

// What is in use first, then what is predicted to be fast.
std::vector<StartupTest::Tested> StartupTest::candidates(const Communicator& c, const CallClass& entry,
                                                         const tuning::Question& asked) const {
  tuning::CandidateList found = tuning::candidates_of(asked, *entry.choice, predict_);
  std::vector<std::pair<double, std::size_t>> order;
  double own_s = 0;
  for (std::size_t k = 0; k < found.choices.size(); ++k) {
    if (found.choices[k].algorithm == nullptr) continue;
    const double predicted_s = found.candidates[k].predicted_s();
    if (order.empty()) own_s = predicted_s;
    if (own_s > 0 && predicted_s > most_slowdown * own_s) continue;
    order.emplace_back(order.empty() ? -1 : predicted_s, k);
  }
  std::ranges::stable_sort(order);
  std::vector<Tested> list(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    list[i].entry.choice = std::make_unique<tuning::Choice>(found.choices[order[i].second]);
    list[i].entry.choice->source = tuning::learned_source;
    list[i].entry.choice->reason = "tested at the first calls of their kind";
    list[i].entry.kind = kind_of(c, *list[i].entry.choice, asked.problem);
  }
  return list;
}

void StartupTest::run_once(Communicator& c, CallClass& entry, Setting& setting) const {
  const Operation operation = setting.operation;
  const std::int64_t bytes = setting.unit_bytes;
  void* const input = setting.input.data();
  void* const output = setting.output.data();
  Call call{.operation = operation, .comm = c.handle, .send_buffer = input, .recv_buffer = output};
  shm::Combine combine;
  std::int64_t elements = moves_data(operation) ? bytes : 1;
  if (is_reduction(operation)) {
    combine = {.element_bytes = sizeof(double), .kernel = reduce_kernel(ReduceOp::sum, ElementType::float64)};
    elements = bytes / static_cast<std::int64_t>(combine.element_bytes);
  }
  const std::size_t element_bytes = is_reduction(operation) ? combine.element_bytes : 1;
  int error = host::success;
  const InsideAlgorithm here(&entry, bytes);
  if (entry.kind == CallClass::Kind::fused) {
    run_fused(
        c, call, input, output, false,
        {static_cast<std::size_t>(elements), static_cast<std::size_t>(elements) * element_bytes, combine});
  } else {
    error = schedules_.execute(c, *Schedules::compiled(c, entry, call, false, setting.is_commutative),
                               {.input = input,
                                .output = output,
                                .elements = elements,
                                .element_bytes = element_bytes,
                                .combine = combine});
  }
  if (error == host::success) return;
  const OutsideAlgorithms outside;
  world_.host.call_error_handler(c.handle, error);
}

void StartupTest::keep(const tuning::Question& asked, const std::vector<Tested>& list, std::size_t best) {
  const int nodes = asked.problem.layout->nodes(), ranks = asked.largest_node();
  tuning::Rule rule{
      .when = {.operation = asked.problem.operation,
               .bytes = {tuning::class_low(asked.size_class), tuning::class_high(asked.size_class)},
               .nodes = {nodes, nodes},
               .ranks_per_node = {ranks, ranks},
               .is_oversubscribed = asked.is_oversubscribed,
               .is_blocking = true},
      .origin = "tested",
      .note = "at the first calls of a job"};
  if (is_reduction(asked.problem.operation)) rule.when.is_commutative = asked.problem.is_commutative;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k].time_s == 0) continue;
    const tuning::Choice& choice = *list[k].entry.choice;
    const tuning::Timed timed{.algorithm = {choice.algorithm, choice.parameters},
                              .time_us = list[k].time_s * us_per_s};
    if (k == best) {
      rule.chosen = timed;
    } else {
      rule.others.push_back(timed);
    }
  }
  std::ranges::stable_sort(rule.others, {}, &tuning::Timed::time_us);
  const tuning::Choice& in_use = *list.front().entry.choice;
  rule.evidence =
      tuning::Evidence{.trust = tuning::fresh_trust, .expected = {{in_use.algorithm, in_use.parameters}}};
  rules_.push_back(std::move(rule));
}

void StartupTest::keep() const {
  const tuning::StorePlace place = store_place(world_);
  if (world_.rank != 0 || rules_.empty() || place.file.empty()) return;
  const tuning::Provenance provenance{.unisono = own_version(),
                                      .machine = tuning::machine_name(),
                                      .mpi = world_.host.library_name(),
                                      .command = "UNISONO_STARTUP_TEST"};
  const std::string message = tuning::store_rules(place, provenance, rules_).message("what was tested");
  if (!message.empty()) log::warning(message);
}

}  // namespace unisono::runtime
