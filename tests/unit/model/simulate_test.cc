// SPDX-License-Identifier: BSD-3-Clause
// Noise, replays beside the events, agents, and how times spread.
#include "model/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "algorithms/catalogue/descriptor.h"
#include "machines.h"
#include "model/distribution.h"
#include "model/fnomial.h"

namespace unisono::model {
namespace {

Candidate candidate_of(Operation operation, const char* name, const algorithms::Parameters& chosen = {}) {
  const auto* algorithm = algorithms::find(operation, name);
  return {algorithm, with_standards(*algorithm, chosen)};
}

double mean(const std::vector<double>& us) {
  return std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(us.size());
}

TEST(Noise, WorkStandsStillWhileADetourLasts) {
  NoiseSource source{.kind = NoiseKind::periodic, .rate_hz = 10'000, .mean_us = 20};  // every 100 us
  Cores cores({source}, 1, 7);
  // 1000 us of work have ten detours in between, and may begin in one.
  const double end = cores.end(0, 0, 1000);
  EXPECT_GE(end, 1000 + 11 * 20);
  EXPECT_LE(end, 1000 + 14 * 20);
  // Of 80 us of every 100 the core is its own.
  const double later = cores.end(0, end, 80'000);
  EXPECT_NEAR(later - end, 100'000, 120);
}

TEST(Noise, RatesAndLengthsAreTheAsked) {
  for (const char* text :
       {"fixed(rate=1000,mean=5)", "uniform(rate=1000,mean=5)", "exponential(rate=1000,mean=5)",
        "lognormal(rate=1000,mean=5,shape=1)", "periodic(rate=1000,mean=5,shape=0.5)"}) {
    const ReadNoise read = noise_from_text(text);
    ASSERT_TRUE(read.source) << read.problem;
    EXPECT_EQ(to_text(*read.source), text);
    Cores cores({*read.source}, 1, 3);
    // Ten seconds of work: some 10 000 detours of 5 us.
    EXPECT_NEAR(cores.end(0, 0, 1e7), 1e7 + 5e4, 3e3) << text;
  }
}

TEST(Noise, RecordingsGoOnFromTheirBegin) {
  NoiseSource source{.kind = NoiseKind::recorded,
                     .recording = {.length_us = 1000, .begins_us = {100, 600}, .us = {10, 30}}};
  Cores cores({source}, 2, 1);
  // Of each turn 960 us are the core's own, wherever it began.
  EXPECT_NEAR(cores.end(0, 0, 96'000), 100'000, 100);
  EXPECT_NEAR(cores.end(1, 0, 96'000), 100'000, 100);
}

TEST(Noise, WhoOnlyWaitsMeetsAShare) {
  NoiseSource source{.kind = NoiseKind::fixed, .rate_hz = 1000, .mean_us = 100, .waiting_share = 0.25};
  Cores busy({source}, 1, 1), waiting({source}, 1, 1, true);
  EXPECT_NEAR(busy.end(0, 0, 1e7) - 1e7, 1e6, 5e4);
  EXPECT_NEAR(waiting.end(0, 0, 1e7) - 1e7, 2.5e5, 3e4);
}

TEST(Noise, MistakesAreSaid) {
  for (const char* text : {"unifrom(rate=1,mean=1)", "uniform", "uniform(rate=1)", "uniform(rate=x,mean=1)",
                           "uniform(rate=1,mean=1", "uniform(length=3)", "fixed(rate=-1,mean=2)",
                           "uniform(rate=1,mean=1,rate=1)"}) {
    const ReadNoise read = noise_from_text(text);
    EXPECT_FALSE(read.source) << text;
    EXPECT_NE(read.problem, "") << text;
  }
}

// One call without noise, by replay and by events, for all algorithms that this machine may run.
TEST(Replay, IsTheEventsWithoutNoise) {
  int replayed = 0;
  for (const algorithms::Descriptor& algorithm : algorithms::registry()) {
    for (const char* layout : {"2x1", "7x1", "3x4"}) {
      const schedule::Problem problem = problem_on(algorithm.operation, layout);
      const Candidate candidate{&algorithm, with_standards(algorithm)};
      SimulateOptions options;
      options.calls = 2;
      const Simulated replay = simulate(candidate, problem, 64, default_machine(), options);
      if (!replay.problem.empty() || !replay.by_events.empty()) continue;
      options.by_events = true;
      const Simulated events = simulate(candidate, problem, 64, default_machine(), options);
      ++replayed;
      EXPECT_NEAR(replay.quiet_us, events.quiet_us, 1e-6) << algorithm.name << " on " << layout;
      // Later, events at equal times may come in another order: who has a node's memory or card first.
      EXPECT_NEAR(replay.us.back(), events.us.back(), 0.02 * events.us.back())
          << algorithm.name << " on " << layout;
    }
  }
  EXPECT_GT(replayed, 100);
}

// The same detours meet both. Call by call the same comes out where messages come in the order of the quiet
// call; with many ranks some overtake others.
TEST(Replay, IsTheEventsWithNoiseWhereTheOrderIsTheSame) {
  SimulateOptions options;
  options.calls = 300;
  options.noise = {{.kind = NoiseKind::exponential, .rate_hz = 500, .mean_us = 30}};
  for (const int ranks : {2, 3, 8, 33, 64}) {
    const schedule::Problem problem = problem_on(Operation::allreduce, std::to_string(ranks) + "x1");
    const Candidate doubling = candidate_of(Operation::allreduce, "recursive_doubling");
    options.by_events = false;
    const Simulated replay = simulate(doubling, problem, 8, default_machine(), options);
    options.by_events = true;
    const Simulated events = simulate(doubling, problem, 8, default_machine(), options);
    ASSERT_EQ(replay.us.size(), events.us.size());
    EXPECT_EQ(replay.by_events, "");
    EXPECT_NEAR(mean(replay.us), mean(events.us), 0.02 * mean(events.us)) << ranks;
    for (std::size_t call = 0; ranks <= 8 && call < events.us.size(); ++call)
      EXPECT_NEAR(replay.us[call], events.us[call], 1e-6) << ranks << " ranks, call " << call;
  }
}

// What may differ between a replay and the events, one after the other.
struct Course {
  const char* name;
  const char* noise;  // empty: none
  SimulateOptions options;
};
std::ostream& operator<<(std::ostream& out, const Course& course) {
  return out << course.name;
}

class ReplayOf : public ::testing::TestWithParam<Course> {
 protected:
  static SimulateOptions options() {
    SimulateOptions made = GetParam().options;
    made.calls = 100;
    const std::string text = GetParam().noise;
    if (text.empty()) return made;
    NoiseSource source = *noise_from_text(text).source;
    if (source.kind == NoiseKind::recorded)
      source.recording = {.length_us = 2000, .begins_us = {100, 600, 650, 1700}, .us = {10, 30, 200, 3}};
    made.noise = {source};
    return made;
  }
};

// Two send each other one message: nothing overtakes it. Among eight some messages may overtake others.
TEST_P(ReplayOf, IsTheEvents) {
  const Machine machine = *find_built_in("quadrics-alc");
  const Candidate doubling = candidate_of(Operation::allreduce, "recursive_doubling");
  for (const bool are_two : {true, false}) {
    SimulateOptions asked = options();
    const std::string layout = std::string(are_two ? "2" : "8") + (asked.has_agents ? "x2" : "x1");
    const schedule::Problem problem = problem_on(Operation::allreduce, layout);
    const Simulated replay = simulate(doubling, problem, 8, machine, asked);
    asked.by_events = true;
    const Simulated events = simulate(doubling, problem, 8, machine, asked);
    ASSERT_EQ(replay.problem + replay.by_events, "");
    ASSERT_EQ(replay.us.size(), 100U);
    ASSERT_EQ(events.us.size(), 100U);
    EXPECT_NEAR(replay.quiet_us, events.quiet_us, 1e-6);
    for (std::size_t call = 0; are_two && call < events.us.size(); ++call)
      EXPECT_NEAR(replay.us[call], events.us[call], 1e-6) << "call " << call;
    // There is something to compare.
    const auto [least, most] = std::ranges::minmax(events.us);
    EXPECT_TRUE(asked.noise.empty() || most > least + 1) << layout;
    EXPECT_EQ(replay.check.calls, 100);
    EXPECT_EQ(events.check.calls, 0);
    EXPECT_TRUE(!are_two || replay.check.differing == 0);
    EXPECT_NEAR(replay.check.mean_error, 0, are_two ? 1e-9 : 0.03) << layout;
  }
}

constexpr const char* some_noise = "exponential(rate=5000,mean=30)";
INSTANTIATE_TEST_SUITE_P(
    Courses, ReplayOf,
    ::testing::Values(
        Course{"fixed", "fixed(rate=5000,mean=30)", {}}, Course{"uniform", "uniform(rate=5000,mean=30)", {}},
        Course{"exponential", some_noise, {}},
        Course{"lognormal", "lognormal(rate=5000,mean=30,shape=1)", {}},
        Course{"periodic", "periodic(rate=5000,mean=30,shape=0.5)", {}}, Course{"recorded", "recorded", {}},
        Course{"slow", "", {.slow_share = 0.3, .slow_factor = 3}},
        Course{"slow_with_noise", some_noise, {.slow_share = 0.3, .slow_factor = 3}},
        Course{"no_barrier", some_noise, {.compute_us = 20, .is_together = false}},
        Course{"agents", some_noise, {.has_agents = true}},
        Course{"agents_recorded", "recorded", {.has_agents = true}},
        Course{"agents_slow", some_noise, {.slow_share = 0.3, .slow_factor = 3, .has_agents = true}},
        Course{"agents_no_barrier", some_noise, {.has_agents = true, .is_together = false}},
        Course{"agents_overlap", some_noise, {.has_agents = true, .compute_us = 50, .is_overlapped = true}}),
    [](const auto& info) { return info.param.name; });

// Ranks at the ends of a tree send, or receive, by themselves.
TEST(Replay, IsTheEventsWithHostsAtTheEndsOfAgents) {
  const Machine machine = *find_built_in("quadrics-alc");
  const schedule::Problem problem = problem_on(Operation::reduce, "4x2");
  const Candidate tree = candidate_of(Operation::reduce, "binomial");
  SimulateOptions options{.calls = 200, .has_agents = true, .has_hosts_at_ends = true};
  options.noise = {*noise_from_text(some_noise).source};
  const Simulated replay = simulate(tree, problem, 8, machine, options);
  options.by_events = true;
  const Simulated events = simulate(tree, problem, 8, machine, options);
  ASSERT_EQ(replay.problem + replay.by_events, "");
  EXPECT_NEAR(replay.quiet_us, events.quiet_us, 1e-6);
  EXPECT_NEAR(mean(replay.us), mean(events.us), 0.02 * mean(events.us));
}

// Of 33 ranks' messages some overtake others: how far replays are off is known from the calls that were run
// both ways.
TEST(Replay, SaysHowFarItIsFromTheEvents) {
  SimulateOptions options{.calls = 300};
  options.noise = {{.kind = NoiseKind::exponential, .rate_hz = 500, .mean_us = 30}};
  const schedule::Problem problem = problem_on(Operation::allreduce, "33x1");
  const Candidate doubling = candidate_of(Operation::allreduce, "recursive_doubling");
  const Simulated replay = simulate(doubling, problem, 8, default_machine(), options);
  EXPECT_EQ(replay.check.calls, 100);
  EXPECT_GT(replay.check.differing, 5);
  EXPECT_LT(replay.check.differing, 100);
  EXPECT_GT(replay.check.most_error, 1e-3);
  EXPECT_GE(replay.check.most_error, std::abs(replay.check.mean_error));
  EXPECT_LT(std::abs(replay.check.mean_error), 0.05);
  // To look at them changes nothing.
  options.calls = 1;
  EXPECT_EQ(simulate(doubling, problem, 8, default_machine(), options).us[0], replay.us[0]);
}

// A parent takes its children's messages as they come: the replay keeps the order of the quiet call, and is
// no more than some messages' work behind.
TEST(Replay, IsNearTheEventsWhereMessagesAreTakenAsTheyCome) {
  SimulateOptions options;
  options.calls = 300;
  options.noise = {{.kind = NoiseKind::uniform, .rate_hz = 200, .mean_us = 50}};
  const schedule::Problem problem = problem_on(Operation::reduce, "64x1");
  const Candidate tree = candidate_of(Operation::reduce, "k_nomial", parameters({{"degree", 4}}));
  const Simulated replay = simulate(tree, problem, 8, default_machine(), options);
  options.by_events = true;
  const Simulated events = simulate(tree, problem, 8, default_machine(), options);
  EXPECT_EQ(replay.by_events, "");
  EXPECT_NEAR(mean(replay.us), mean(events.us), 0.05 * mean(events.us));
}

// Section 5.2.2: C of hosts is 2.70, of agents 9.20; 2.90 or 2.10 until a message is there, 0.42 and c for
// it.
TEST(Agents, TwoNodesAreTheSourcesNumbers) {
  const Machine machine = with_combine(*find_built_in("quadrics-crescendo"), "int32", "sum");
  const schedule::Problem problem = problem_on(Operation::reduce, "2x1");
  const Candidate tree = candidate_of(Operation::reduce, "binomial");
  SimulateOptions options;
  options.calls = 1;
  EXPECT_NEAR(simulate(tree, problem, 4, machine, options).quiet_us, 2.70 + 2.90 + 0.42 + 0.02, 1e-9);
  options.has_agents = true;
  EXPECT_NEAR(simulate(tree, problem, 4, machine, options).quiet_us, 9.20 + 2.10 + 0.42 + 0.25, 1e-9);
  options.has_hosts_at_ends = true;
  EXPECT_NEAR(simulate(tree, problem, 4, machine, options).quiet_us, 2.70 + 2.90 + 0.42 + 0.02, 1e-9);
}

TEST(Agents, ComputingHidesTheirCalls) {
  const Machine machine = with_combine(*find_built_in("quadrics-alc"), "int32", "sum");
  const schedule::Problem problem = problem_on(Operation::allreduce, "16x2");
  const Candidate tree = candidate_of(Operation::allreduce, "reduce_bcast");
  SimulateOptions options{.calls = 20, .has_agents = true, .compute_us = 500};
  const double alone = mean(simulate(tree, problem, 4, machine, options).us);
  options.is_overlapped = true;
  const double hidden = mean(simulate(tree, problem, 4, machine, options).us);
  EXPECT_GT(alone, 20);
  EXPECT_LT(hidden, 0.1 * alone);
}

// A share of the detours meets hosts that wait for their agents; all of them meet a host that computes.
TEST(Agents, HostsThatComputeMeetAllDetours) {
  const Machine machine = *find_built_in("quadrics-alc");
  const schedule::Problem problem = problem_on(Operation::allreduce, "2x2");
  const Candidate tree = candidate_of(Operation::allreduce, "reduce_bcast");
  SimulateOptions options{.calls = 300, .has_agents = true, .compute_us = 10'000, .is_together = false};
  for (const bool is_overlapped : {false, true}) {
    options.is_overlapped = is_overlapped;
    options.noise = {};
    const double quiet = mean(simulate(tree, problem, 8, machine, options).us);
    // One of 1 ms for each 10 ms of work, and a call is over with the last of four ranks.
    options.noise = {{.kind = NoiseKind::fixed, .rate_hz = 100, .mean_us = 1000, .waiting_share = 0.01}};
    EXPECT_GT(mean(simulate(tree, problem, 8, machine, options).us), quiet + 1000) << is_overlapped;
    // While the ranks do nothing but wait they meet few.
    options.compute_us = 0;
    EXPECT_LT(mean(simulate(tree, problem, 8, machine, options).us), quiet + 100) << is_overlapped;
    options.compute_us = 10'000;
  }
}

// Nothing is taken off the first one, before which nobody has computed.
TEST(Computing, IsNoPartOfACall) {
  const schedule::Problem problem = problem_on(Operation::allreduce, "8x1");
  const Candidate doubling = candidate_of(Operation::allreduce, "recursive_doubling");
  for (const bool is_together : {false, true}) {
    const SimulateOptions options{.calls = 3, .compute_us = 1000, .is_together = is_together};
    const Simulated found = simulate(doubling, problem, 8, default_machine(), options);
    for (const double us : found.us) EXPECT_NEAR(us, found.quiet_us, 1e-6) << is_together;
  }
}

TEST(Agents, MachinesWithoutThemSaySo) {
  SimulateOptions options{.has_agents = true};
  const schedule::Problem problem = problem_on(Operation::reduce, "4x1");
  const Simulated none =
      simulate(candidate_of(Operation::reduce, "binomial"), problem, 8, default_machine(), options);
  EXPECT_NE(none.problem.find("has no agent"), std::string::npos);
}

TEST(SlowCores, HoldUpAll) {
  const schedule::Problem problem = problem_on(Operation::allreduce, "16x1");
  const Candidate doubling = candidate_of(Operation::allreduce, "recursive_doubling");
  SimulateOptions options{.calls = 1};
  const double even = simulate(doubling, problem, 8, default_machine(), options).quiet_us;
  options.slow_share = 0.3;
  options.slow_factor = 3;
  const Simulated slow = simulate(doubling, problem, 8, default_machine(), options);
  EXPECT_GT(slow.quiet_us, 1.5 * even);
  EXPECT_LT(slow.quiet_us, 3 * even);
}

TEST(Distributions, AreThoseOfTheirSamples) {
  std::vector<double> us(100);
  std::iota(us.begin(), us.end(), 1.0);  // 1 to 100
  us.back() = 10'000;
  const Distribution found = distribution_of(us, {.windows = {9}, .trimmed_share = 0.01, .bins = 10});
  EXPECT_DOUBLE_EQ(found.trimmed_mean, 50);
  EXPECT_NEAR(found.trimmed_deviation, std::sqrt(99.0 * 100 / 12), 1e-9);
  EXPECT_DOUBLE_EQ(found.windows[0].share, 0.1);
  EXPECT_DOUBLE_EQ(found.percentiles[3].us, 50.5);
  std::int64_t count = 0;
  for (const auto& bin : found.histogram) count += bin.count;
  EXPECT_EQ(count, 100);
  EXPECT_DOUBLE_EQ(found.histogram.back().to, 10'000);
}

// Figure 3.1: what serial reductions take is a line, and the line is what it was made of.
TEST(SerialReductions, AreFitted) {
  const FNomial card{.constant_us = 9.2, .latency_us = 2.1, .receive_us = 0.42, .combine_us = 1.5};
  std::vector<SerialTime> times;
  for (const int ranks : {2, 5, 13}) times.push_back({ranks, card.serial_us(ranks)});
  const SerialFit fit = fit_serial(times);
  EXPECT_NEAR(fit.slope_us, 1.92, 1e-9);
  EXPECT_NEAR(fit.intercept_us, 11.3, 1e-9);
  EXPECT_NEAR(fit.largest_error, 0, 1e-9);
}

// Figure 5.3, section 5.2.3: 4, 2, 2, 2; in virtual time the first is 2.
TEST(Degrees, AreThoseOfTheSource) {
  const int wanted[] = {4, 2, 2, 2};
  const double combine_us[] = {1.50, 2.95, 5.80, 11.56};
  for (int i = 0; i < 4; ++i) {
    const FNomial card{
        .constant_us = 9.2, .latency_us = 2.1, .receive_us = 0.42, .combine_us = combine_us[i]};
    EXPECT_EQ(card.best_degree(31), wanted[i]);
  }
}

}  // namespace
}  // namespace unisono::model
