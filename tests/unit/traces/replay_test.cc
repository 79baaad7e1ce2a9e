// SPDX-License-Identifier: BSD-3-Clause
// Traces through structures: all of them match alike, and depths are what the queues had.
#include <gtest/gtest.h>

#include "traces/patterns.h"
#include "traces/queue_replay.h"
#include "traces/trace_items.h"

namespace unisono::traces {
namespace {

RankOrder order_in(const Trace& trace) {
  return order_of(trace, 0, Incoming(trace), Rule::all_sent);
}

// What each call has given back.
std::vector<matching::Item> answers(const RankOrder& order, matching::Queues* queues) {
  std::vector<matching::Item> found;
  for (const QueueEvent& event : order.events) {
    if (event.what == What::post) found.push_back(queues->post(event.envelope, item_of(event.item)));
    if (event.what == What::arrive) found.push_back(queues->arrive(event.envelope, item_of(event.item)));
  }
  return found;
}

TEST(Replay, of_each_pattern_is_the_same_on_all_structures) {
  for (const Pattern& pattern : patterns()) {
    const Trace trace = pattern.make(64, 3, 5);
    const RankOrder order = order_in(trace);
    const matching::Profile profile = profile_of(order, trace.ranks);
    const auto expected = answers(order, queues_for(*matching::find("list"), trace.ranks, profile).get());
    for (const matching::Descriptor& descriptor : matching::registry())
      EXPECT_EQ(answers(order, queues_for(descriptor, trace.ranks, profile).get()), expected)
          << pattern.name << " on " << descriptor.name;
  }
}

TEST(Replay, queues_that_have_met_the_contexts_match_as_new_ones) {
  for (const Pattern& pattern : patterns()) {
    const Trace trace = pattern.make(64, 3, 5);
    const RankOrder order = order_in(trace);
    const matching::Profile profile = profile_of(order, trace.ranks);
    const auto expected = answers(order, queues_for(*matching::find("list"), trace.ranks, profile).get());
    for (const matching::Descriptor& descriptor : matching::registry()) {
      const auto queues = queues_for(descriptor, trace.ranks, profile);
      meet_contexts(order, queues.get());
      EXPECT_EQ(queues->posted().depth + queues->unexpected().depth, 0U);
      EXPECT_EQ(answers(order, queues.get()), expected) << pattern.name << " on " << descriptor.name;
    }
  }
}

TEST(Replay, lists_for_each_source_are_there_before_the_first_message) {
  const ReadTrace read = read_trace(
      "unisono-message-trace 1\nranks 4096\nrank 0\npost 1 0 1 0 0 8\npost 2 1 any 0 7 8\n"
      "arrive 3 1 0 0 8\narrive 4 1 0 7 8\n");
  ASSERT_EQ(read.problem, "");
  const RankOrder order = order_in(read.trace);
  const auto queues = queues_for(*matching::find("by_source"), 4096, profile_of(order, 4096));
  const std::size_t before = queues->memory_bytes();
  meet_contexts(order, queues.get());
  const std::size_t met = queues->memory_bytes();
  EXPECT_GT(met, before + std::size_t{4} * 4096 * sizeof(void*));
  replay(order, queues.get());
  EXPECT_EQ(queues->memory_bytes(), met);
}

TEST(Replay, counts_lengths_and_what_was_looked_at) {
  const ReadTrace read = read_trace(
      "unisono-message-trace 1\nranks 4\nrank 0\npost 1 0 1 0 0 8\npost 2 1 2 0 0 8\npost 3 2 3 0 0 8\n"
      "arrive 4 3 0 0 8\narrive 5 1 9 0 8\npost 6 3 1 9 0 8\n");
  ASSERT_EQ(read.problem, "");
  const RankOrder order = order_in(read.trace);
  const matching::Profile profile = profile_of(order, 4);
  const Depths depths = depths_in(order, queues_for(*matching::find("list"), 4, profile).get());
  EXPECT_EQ(depths.posted.lengths.searches, 2U);
  EXPECT_EQ(depths.posted.lengths.most, 3U);
  EXPECT_EQ(depths.posted.looked_at.sum, 5U);  // three, then two in vain
  EXPECT_EQ(depths.unexpected.lengths.searches, 4U);
  EXPECT_EQ(depths.unexpected.looked_at.sum, 1U);
  EXPECT_EQ(depths.of_peer.at(3).messages, 1U);
  EXPECT_EQ(depths.of_peer.at(3).looked_at, 3U);
  EXPECT_EQ(depths.of_peer.at(1).looked_at, 3U);
  EXPECT_EQ(profile.posted.at({0, 3}), 1U);
  EXPECT_EQ(profile.unexpected.at({0, 1}), 1U);
}

TEST(Replay, what_collectives_have_looked_at_is_told_apart) {
  const ReadTrace read = read_trace(
      "unisono-message-trace 1\nranks 4\nrank 0\npost 1 0 2 0 0 8\npost 2 1 1 0 1 8 collective 3 1 2 1\n"
      "arrive 3 1 0 1 8 collective 3 1 2 1\narrive 4 2 0 0 8\narrive 5 3 0 0 8\npost 6 2 3 0 0 8\n");
  ASSERT_EQ(read.problem, "");
  const RankOrder order = order_in(read.trace);
  const auto queues = queues_for(*matching::find("list"), 4, profile_of(order, 4));
  const LookedByKind looked = looked_by_kind(order, queues.get());
  EXPECT_EQ(looked.of_collectives.searches, (std::array<std::uint64_t, 2>{1, 1}));
  EXPECT_EQ(looked.of_collectives.traversals, (std::array<std::uint64_t, 2>{2, 0}));
  EXPECT_EQ(looked.of_program.searches, (std::array<std::uint64_t, 2>{2, 2}));
  EXPECT_EQ(looked.of_program.traversals, (std::array<std::uint64_t, 2>{1, 1}));
}

TEST(Replay, histograms_have_powers_of_two) {
  Histogram histogram;
  for (const std::uint64_t value : {0U, 1U, 2U, 3U, 4U, 7U, 8U}) histogram.add(value);
  histogram.add(UINT64_MAX);
  EXPECT_EQ(histogram.counts[0], 1U);
  EXPECT_EQ(histogram.counts[1], 1U);
  EXPECT_EQ(histogram.counts[2], 2U);
  EXPECT_EQ(histogram.counts[3], 2U);
  EXPECT_EQ(histogram.counts[4], 1U);
  EXPECT_EQ(histogram.counts[32], 1U);
  EXPECT_EQ(histogram.most, UINT64_MAX);
}

}  // namespace
}  // namespace unisono::traces
