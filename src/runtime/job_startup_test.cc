// SPDX-License-Identifier: BSD-3-Clause
// A test at the first calls of a kind (A10): where a table decides that was tuned for other layouts or sizes,
// its neighbours are tried once, on memory of our own, and the fastest is kept for this job and the next
// ones. All ranks are inside of the same blocking call meanwhile, and go by numbers that they have agreed on.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/log.h"
#include "base/reduce_kernels.h"
#include "runtime/crash_site.h"
#include "runtime/job.h"
#include "runtime/learning.h"
#include "tuning/learning/comparison.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/table_files.h"

namespace unisono::runtime {
namespace {

constexpr std::int64_t most_test_bytes = std::int64_t{256} << 20;
constexpr double batch_s = 200e-6;
constexpr double most_batch_calls = 50;
// What is predicted to take so many times as long as what is in use is not tried.
constexpr double most_slowdown = 3;
constexpr double us = 1e6;

}  // namespace

// One algorithm of the test, with memory that no program sees.
struct Job::Tested {
  CallClass entry;
  double time_s = 0;  // of a call, as agreed
};

bool Job::is_worth_a_test(const tuning::Choice& choice) {
  const bool is_of_table = choice.source == tuning::application_source ||
                           choice.source == tuning::learned_source || choice.source == tuning::site_source;
  return is_of_table && !choice.is_exact && choice.algorithm != nullptr;
}

// The longest rank's of each: seconds.
std::vector<double> Job::agree_on_longest(Communicator& c, const std::vector<double>& seconds) {
  std::vector<std::uint64_t> numbers;
  for (const double time_s : seconds) numbers.push_back(tuning::time_number(time_s, true));
  const int error = agree_on_least(c, numbers.data(), numbers.size());
  if (error != host::success) host_.call_error_handler(c.handle, error);
  std::vector<double> longest;
  for (const std::uint64_t number : numbers) longest.push_back(tuning::time_of(number, true));
  return longest;
}

void Job::test_at_start(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                        std::int64_t bytes) {
  // The job has run for as long as its youngest rank.
  const double most_s = 1e7;
  if (most_s - agree_on_longest(c, {most_s - (now_s() - started_s_)})[0] <
      static_cast<double>(options_.startup_after))
    return;
  entry.is_to_be_tested = false;
  const tuning::Question asked = question(c, call, is_commutative, bytes, true);
  const std::int64_t unit_bytes = std::max<std::int64_t>(bytes, 8);
  if (2 * unit_bytes * c.size > most_test_bytes) return;
  std::vector<Tested> list = candidates_of_test(c, entry, asked);
  std::vector<char> input(static_cast<std::size_t>(unit_bytes * c.size)), output(input.size());
  const double start_s = now_s();
  const auto batch = [&](Tested& tested, int calls) {
    agree_on_longest(c, {0.0});
    const double batch_start_s = now_s();
    for (int i = 0; i < calls; ++i)
      run_test(c, tested.entry, call.operation, is_commutative, unit_bytes, input.data(), output.data());
    return (now_s() - batch_start_s) / calls;
  };
  std::size_t best = 0;
  list[0].time_s = agree_on_longest(c, {batch(list[0], 2)})[0];
  for (std::size_t k = 1; k < list.size(); ++k) {
    batch(list[k], 1);  // makes its schedule
    std::vector<tuning::Round> rounds;
    tuning::Verdict verdict = tuning::Verdict::open;
    double elapsed_s = 0;
    while (verdict == tuning::Verdict::open && elapsed_s < static_cast<double>(options_.startup_test)) {
      const auto calls = static_cast<int>(std::clamp(batch_s / list[best].time_s, 1.0, most_batch_calls));
      const double of_best_s = batch(list[best], calls), of_other_s = batch(list[k], calls);
      const std::vector<double> agreed = agree_on_longest(c, {of_best_s, of_other_s, now_s() - start_s});
      rounds.push_back({agreed[0], agreed[0], agreed[1], agreed[1]});
      elapsed_s = agreed[2];
      verdict = tuning::verdict_of(rounds, false);
    }
    if (rounds.empty()) break;
    list[best].time_s = tuning::median_of(rounds, &tuning::Round::best_s);
    list[k].time_s = tuning::median_of(rounds, &tuning::Round::other_s);
    if (verdict == tuning::Verdict::won) best = k;
    if (elapsed_s >= static_cast<double>(options_.startup_test)) break;
  }
  keep_test(asked, list, best);
  entry.choice = std::move(list[best].entry.choice);
  entry.kind = kind_of(c, *entry.choice, asked.problem);
  entry.compiled = nullptr;
  c.forget_calls(call.operation);
}

// What is in use first, then what is predicted to be fast.
std::vector<Job::Tested> Job::candidates_of_test(Communicator& c, const CallClass& entry,
                                                 const tuning::Question& asked) {
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

void Job::run_test(Communicator& c, CallClass& entry, Operation operation, bool is_commutative,
                   std::int64_t bytes, void* input, void* output) {
  Call call{.operation = operation, .comm = c.handle, .send_buffer = input, .recv_buffer = output};
  shm::Combine combine;
  std::int64_t elements = operation == Operation::barrier ? 1 : bytes;
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
    error = execute(c, call, *compiled(c, entry, call, false, is_commutative),
                    {.input = input,
                     .output = output,
                     .elements = elements,
                     .element_bytes = element_bytes,
                     .combine = combine});
  }
  if (error == host::success) return;
  const OutsideAlgorithms outside;
  host_.call_error_handler(c.handle, error);
}

void Job::keep_test(const tuning::Question& asked, const std::vector<Tested>& list, std::size_t best) {
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
                              .time_us = list[k].time_s * us};
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
  tested_rules_.push_back(std::move(rule));
}

// Rank 0 of the job has seen all tests but those of communicators that it is not in.
void Job::keep_tested() {
  const tuning::StorePlace place = store_place();
  if (world_rank_ != 0 || tested_rules_.empty() || place.file.empty()) return;
  const tuning::Provenance provenance{.unisono = UNISONO_VERSION,
                                      .machine = tuning::machine_name(),
                                      .mpi = host_.library_name(),
                                      .command = "UNISONO_STARTUP_TEST"};
  const std::string message =
      tuning::store_rules(place, provenance, tested_rules_).message("what was tested");
  if (!message.empty()) log::warning(message);
}

}  // namespace unisono::runtime
