// SPDX-License-Identifier: BSD-3-Clause
// Every structure of the registry, with various values of its parameters, does what the reference does: on
// random calls of all kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../case_turns.h"
#include "../seed.h"
#include "matching/catalogue.h"
#include "matching/queue_profile.h"
#include "setups.h"
#include "traces.h"

namespace unisono::matching {
namespace {

std::vector<Traffic> all_traffic() {
  std::vector<Traffic> all = {
      {.name = "short queues"},
      {.name = "exact", .any_source = 0, .any_tag = 0},
      {.name = "any source alone", .any_source = 1, .any_tag = 0},
      {.name = "any tag alone", .any_source = 0, .any_tag = 1},
      {.name = "all wild", .any_source = 1, .any_tag = 1},
      {.name = "around the short array", .depth = 10, .sources = 3, .tags = 4},
      {.name = "one envelope", .depth = 100, .sources = 1, .tags = 1, .any_source = 0.3, .any_tag = 0.3},
      {.name = "deep", .depth = 1500, .sources = 40, .tags = 60, .any_source = 0.05, .any_tag = 0.05},
      {.name = "deep and exact", .depth = 2000, .sources = 64, .tags = 64, .any_source = 0, .any_tag = 0},
      {.name = "deep from one end",
       .depth = 1500,
       .sources = 64,
       .tags = 999,
       .any_source = 0.3,
       .any_tag = 0.02,
       .backward = 1},
      {.name = "tags that are always new", .depth = 300, .tags = 1 << 20, .any_source = 0.1, .any_tag = 0.02},
      {.name = "tags 1021 apart",
       .depth = 400,
       .tags = 500,
       .stride = 1021,
       .any_source = 0.1,
       .any_tag = 0.1},
      {.name = "tags 4096 apart", .depth = 400, .tags = 500, .stride = 4096, .any_source = 0.1, .any_tag = 0},
      {.name = "tags 32768 apart",
       .depth = 400,
       .tags = 500,
       .stride = 32768,
       .any_source = 0,
       .any_tag = 0.1},
      {.name = "several communicators", .depth = 300, .contexts = 7},
      {.name = "many asides", .depth = 100, .tags = 40, .contexts = 2, .asides = 0.6},
      {.name = "few matches", .depth = 600, .sources = 64, .tags = 9, .contexts = 4, .aimed = 0.1},
  };
  return all;
}

const std::vector<Trace>& all_traces() {
  static const std::vector<Trace> all = [] {
    std::vector<Trace> traces;
    std::uint32_t number = seed();
    for (const Traffic& traffic : all_traffic()) traces.push_back(TraceWriter(traffic, number++).written());
    return traces;
  }();
  return all;
}

// The standard values; then each parameter's ends, and two values more.
std::vector<Values> values_of(const Descriptor& descriptor) {
  std::vector<Values> all = {{}};
  for (const Parameter& parameter : descriptor.parameters) {
    const std::int64_t small = std::min(parameter.low + 1, parameter.high);
    for (const std::int64_t value :
         std::set{parameter.low, small, std::min(parameter.low + 5, parameter.high)})
      all.push_back({{parameter.name, value}});
  }
  return all;
}

class Order : public testing::TestWithParam<std::string> {};

TEST_P(Order, IsThatOfTheReference) {
  const Descriptor& descriptor = *find(GetParam());
  int place = static_cast<int>(&descriptor - registry().data());
  for (const Values& values : values_of(descriptor)) {
    for (const Trace& trace : all_traces()) {
      if (!case_turns().has(place++)) continue;
      SCOPED_TRACE(trace.traffic.name + text_of(values));
      const Profile profile = some_profile(trace.traffic);
      const auto queues =
          make_queues(descriptor, {.ranks = trace.traffic.sources, .profile = &profile, .values = values});
      ASSERT_EQ(first_wrong_step(queues.get(), trace), trace.steps.size());
      EXPECT_EQ(queues->posted().depth, trace.posted);
      EXPECT_EQ(queues->unexpected().depth, trace.unexpected);
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Descriptor& descriptor : registry()) all.emplace_back(descriptor.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Structures, Order, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(Order, TracesReachWhatTheyAreFor) {
  std::size_t steps = 0, matches = 0;
  for (const Trace& trace : all_traces()) {
    SCOPED_TRACE(trace.traffic.name);
    Reference reference;
    std::size_t deepest_posted = 0, deepest_unexpected = 0;
    for (const Step& step : trace.steps) {
      if (step.act == Act::post) reference.post(step.envelope, step.item);
      if (step.act == Act::arrive) reference.arrive(step.envelope, step.item);
      if (step.act == Act::take) reference.take(step.envelope);
      if (step.act == Act::cancel) reference.cancel(step.envelope, step.item);
      deepest_posted = std::max(deepest_posted, reference.posted().size());
      deepest_unexpected = std::max(deepest_unexpected, reference.unexpected().size());
      matches += step.expected != nullptr ? 1 : 0;
      ++steps;
    }
    const auto depth = static_cast<std::size_t>(trace.traffic.depth);
    EXPECT_GT(deepest_posted, depth / 3);
    EXPECT_GT(deepest_unexpected, depth / 3);
  }
  EXPECT_GT(matches, steps / 4);
}

}  // namespace
}  // namespace unisono::matching
