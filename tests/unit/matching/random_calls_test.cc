// SPDX-License-Identifier: BSD-3-Clause
// Millions of random calls on every structure of the registry, with parameters at random as well: each answer
// is that of the reference. TEST_STEPS says how many calls each structure gets; `make random-calls` makes a
// hundred million.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "../case_turns.h"
#include "../seed.h"
#include "matching/catalogue.h"
#include "setups.h"
#include "traces.h"

namespace unisono::matching {
namespace {

std::uint64_t steps_for_each() {
  constexpr std::uint64_t standard = 4'000'000;
  const char* given = std::getenv("TEST_STEPS");
  const std::uint64_t steps = given == nullptr ? standard : std::strtoull(given, nullptr, 10);
  return std::max<std::uint64_t>(1, steps / static_cast<std::uint64_t>(case_turns().every));
}

class Chooser {
 public:
  explicit Chooser(std::uint32_t seed) : random_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  // Small ones are as likely as large ones.
  int up_to(int most) { return static_cast<int>(std::exp(share() * std::log(static_cast<double>(most)))); }
  double share() { return std::uniform_real_distribution<>()(random_); }
  // Often none or all.
  double some_share() {
    const std::int64_t kind = between(0, 5);
    return kind == 0 ? 0 : kind == 1 ? 1 : share() * share();
  }

  Traffic traffic() {
    Traffic traffic{.name = "random",
                    .steps = 20'000,
                    .depth = up_to(1200),
                    .sources = up_to(100),
                    .tags = up_to(100'000),
                    .stride = 1,
                    .contexts = up_to(8),
                    .any_source = some_share(),
                    .any_tag = some_share(),
                    .aimed = 0.1 + 0.9 * share(),
                    .backward = share(),
                    .asides = 0.5 * share()};
    // Tags as programs have them, and such as fall together where a table's size divides their distance.
    if (between(0, 1) == 1) traffic.tags = up_to(50);
    if (between(0, 2) == 0)
      traffic.stride = std::array{1021, 1024, 4096, 64}[static_cast<std::size_t>(between(0, 3))];
    return traffic;
  }

  Values values(const Descriptor& descriptor) {
    Values values;
    for (const Parameter& parameter : descriptor.parameters) {
      const std::int64_t kind = between(0, 2);
      const std::int64_t value = kind == 0 ? parameter.standard
                                 : kind == 1
                                     ? between(parameter.low, std::min(parameter.low + 9, parameter.high))
                                     : between(parameter.low, parameter.high);
      values.emplace_back(parameter.name, value);
    }
    return values;
  }

  Setup setup(const Descriptor& descriptor, const Traffic& traffic, const Profile* profile) {
    // Numbers of receives pass their end in some runs.
    const auto first = static_cast<std::uint32_t>(between(0, 1) == 0 ? 0 : -between(1, 5000));
    return {.ranks = traffic.sources,
            .profile = profile,
            .values = values(descriptor),
            .hash_seed = static_cast<std::uint64_t>(between(0, INT64_MAX)),
            .first_sequence = first};
  }

 private:
  std::mt19937_64 random_;
};

std::string described(const Traffic& traffic, const Setup& setup) {
  return "depth " + std::to_string(traffic.depth) + ", " + std::to_string(traffic.sources) + " sources, " +
         std::to_string(traffic.tags) + " tags " + std::to_string(traffic.stride) + " apart, " +
         std::to_string(traffic.contexts) + " contexts;" + text_of(setup.values);
}

TEST(RandomCalls, AreMatchedAsTheReferenceDoes) {
  Chooser chooser(seed());
  std::map<std::string_view, std::uint64_t> steps;
  const std::uint64_t wanted = steps_for_each();
  for (std::uint64_t done = 0; done < wanted;) {
    const Traffic traffic = chooser.traffic();
    const Trace trace =
        TraceWriter(traffic, static_cast<std::uint32_t>(chooser.between(0, UINT32_MAX))).written();
    const Profile profile = some_profile(traffic);
    for (const Descriptor& descriptor : registry()) {
      const auto setup = chooser.setup(descriptor, traffic, &profile);
      SCOPED_TRACE(std::string(descriptor.name) + " after " + std::to_string(done) + " calls; " +
                   described(traffic, setup));
      const auto queues = make_queues(descriptor, setup);
      ASSERT_EQ(first_wrong_step(queues.get(), trace), trace.steps.size());
      ASSERT_EQ(queues->posted().depth, trace.posted);
      ASSERT_EQ(queues->unexpected().depth, trace.unexpected);
      steps[descriptor.name] += trace.steps.size();
    }
    done += trace.steps.size();
  }
  EXPECT_EQ(steps.size(), registry().size());
  for (const auto& [name, count] : steps) {
    EXPECT_GE(count, wanted);
    std::printf("%.*s: %llu calls\n", static_cast<int>(name.size()), name.data(),
                static_cast<unsigned long long>(count));
  }
}

}  // namespace
}  // namespace unisono::matching
