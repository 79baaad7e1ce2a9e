// SPDX-License-Identifier: BSD-3-Clause
// What two rules make of a trace from outside of the MPI.
#include "traces/queue_order.h"

#include <gtest/gtest.h>

namespace unisono::traces {
namespace {

Trace trace_of(const std::string& text) {
  const ReadTrace read = read_trace("unisono-message-trace 1\nranks 3\n" + text);
  EXPECT_EQ(read.problem, "");
  return read.trace;
}

RankOrder order(const Trace& trace, Rule rule) {
  return order_of(trace, 0, Incoming(trace), rule);
}

// A letter each: p a receive, a a message, c, b (probe).
std::string letters(const RankOrder& order) {
  std::string text;
  for (const QueueEvent& event : order.events)
    text += event.what == What::post     ? 'p'
            : event.what == What::arrive ? 'a'
            : event.what == What::cancel ? 'c'
                                         : 'b';
  return text;
}

TEST(QueueOrder, low_takes_in_what_is_needed_high_what_was_sent) {
  const Trace trace = trace_of(
      "rank 0\npost 10 0 1 2 0 8\ndone 11 0 1 2 8\npost 12 1 1 1 0 8\ndone 13 1 1 1 8\n"
      "rank 1\nsend 1 0 1 0 8\nsend 2 0 2 0 8\nsend 3 0 3 0 8\n");
  const RankOrder low = order(trace, Rule::until_match), high = order(trace, Rule::all_sent);
  EXPECT_EQ(letters(low), "paap");
  EXPECT_EQ(letters(high), "aaapp");
  EXPECT_EQ(low.as_recorded, 2U);
  EXPECT_EQ(high.as_recorded, 2U);
  EXPECT_EQ(low.otherwise + low.unmatched + high.otherwise + high.unmatched, 0U);
}

TEST(QueueOrder, messages_of_several_ranks_come_as_they_were_sent) {
  const Trace trace = trace_of(
      "rank 0\npost 10 0 any any 0 8\ndone 11 0 2 7 8\nrank 1\nsend 2 0 1 0 8\nrank 2\nsend 1 0 7 0 8\n");
  const RankOrder high = order(trace, Rule::all_sent);
  ASSERT_EQ(letters(high), "aap");
  EXPECT_EQ(high.events[0].envelope.source, 2);
  EXPECT_EQ(high.as_recorded, 1U);
  const RankOrder low = order(trace, Rule::until_match);
  EXPECT_EQ(letters(low), "pa");
  EXPECT_EQ(low.as_recorded, 1U);
}

TEST(QueueOrder, counts_receives_that_get_another_message) {
  const Trace trace = trace_of(
      "rank 0\npost 10 0 any any 0 8\ndone 11 0 1 1 8\nrank 1\nsend 2 0 1 0 8\nrank 2\nsend 1 0 7 0 8\n");
  EXPECT_EQ(order(trace, Rule::all_sent).otherwise, 1U);
}

TEST(QueueOrder, withdraws_receives_whose_message_is_not_there) {
  const Trace trace =
      trace_of("rank 0\npost 10 0 1 1 0 8\npost 11 1 1 1 0 8\ncancel 12 1\ndone 13 0 1 1 8\n");
  const RankOrder low = order(trace, Rule::until_match);
  EXPECT_EQ(letters(low), "ppcc");
  EXPECT_EQ(low.unmatched, 1U);
}

TEST(QueueOrder, ends_where_the_first_memory_was_full) {
  const Trace trace = trace_of(
      "rank 0\npost 10 0 1 1 0 8\ndone 11 0 1 1 8\npost 20 1 1 1 0 8\nrank 1\nfull 15\nsend 1 0 1 0 8\n");
  EXPECT_EQ(letters(order(trace, Rule::all_sent)), "ap");
}

TEST(QueueOrder, of_an_exact_trace_is_its_own) {
  const Trace trace = trace_of(
      "rank 0\npost 1 0 1 1 0 8\narrive 2 1 2 0 8\nprobe 3 any 2 0\narrive 4 1 1 0 8\nrank 1\nsend 1 0 1 0 "
      "8\n");
  EXPECT_EQ(letters(order(trace, Rule::all_sent)), "paba");
  EXPECT_EQ(letters(order(trace, Rule::until_match)), "paba");
}

TEST(QueueOrder, of_a_rank_that_the_trace_lacks_is_empty) {
  const Trace trace = trace_of("rank 1\nsend 1 0 1 0 8\n");
  EXPECT_TRUE(order(trace, Rule::all_sent).events.empty());
}

}  // namespace
}  // namespace unisono::traces
