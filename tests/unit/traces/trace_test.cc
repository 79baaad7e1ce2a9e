// SPDX-License-Identifier: BSD-3-Clause
// The text of traces: what is written is read again, and what is no trace is refused by its line.
#include "traces/trace.h"

#include <gtest/gtest.h>

#include "traces/patterns.h"

namespace unisono::traces {
namespace {

constexpr std::string_view head = "unisono-message-trace 1\nranks 4\n";
constexpr std::string_view marked_head = "unisono-message-trace 1\nwith-end\nranks 4\n";
constexpr std::string_view cut_short = "it was cut short: its last line, 'end', is missing";

std::string problem_of(const std::string& lines) {
  return read_trace(std::string(head) + lines).problem;
}

TEST(Trace, is_read_as_it_was_written) {
  const std::string text = std::string(marked_head) +
                           "mpi Open MPI 5.0.11\nmessages node\nnodes 0 0 1 1\nrank 1\nrun 900\nfull 800\n"
                           "count failed-probes 7\nsend 1 3 5 0 16\npost 2 0 any any 2 8\ndone 3 0 2 4 8\n"
                           "probe 4 2 any 0\npost 5 1 0 2147483647 0 8 collective 3 1 2 1\ncancel 6 "
                           "1\nsample 7 9\nsample 8 9 3 0\n"
                           "rank 3\narrive 1 0 0 0 4\nend\n";
  const ReadTrace read = read_trace(text);
  ASSERT_EQ(read.problem, "");
  EXPECT_EQ(to_text(read.trace), text);
  const RankTrace& one = read.trace.of_rank.at(1);
  EXPECT_EQ(one.events.size(), 8U);
  EXPECT_EQ(one.full_ns, 800U);
  EXPECT_FALSE(one.is_exact);
  EXPECT_TRUE(read.trace.of_rank.at(3).is_exact);
  EXPECT_EQ(one.events[1].envelope.source, matching::any_source);
  EXPECT_EQ(one.events[4].envelope.kind.operation, 3);
}

TEST(Trace, names_communicators_whose_order_is_exact) {
  const auto exact = [](const std::string& lines) {
    return read_trace(std::string(head) + "rank 0\n" + lines).trace.of_rank.at(0).is_exact;
  };
  EXPECT_TRUE(exact("exact 2 7\npost 1 0 1 5 7 8\n"));
  EXPECT_TRUE(exact("exact 2\nsend 1 1 5 3 8\n"));
  EXPECT_FALSE(exact("exact 2\narrive 1 1 5 2 8\npost 2 0 1 5 7 8\n"));
  EXPECT_FALSE(exact("post 2 0 1 5 7 8\n"));
  EXPECT_EQ(problem_of("rank 0\nexact\n"), "line 4 wants a number of a communicator");
  EXPECT_EQ(problem_of("rank 0\nexact 1 x\n"), "line 4 wants numbers of communicators");
  const std::string text =
      std::string(marked_head) + "messages off\nrank 0\nexact 2 7\narrive 1 1 5 2 8\nend\n";
  EXPECT_EQ(to_text(read_trace(text).trace), text);
}

TEST(Trace, of_others_may_have_comments_tabs_and_empty_lines) {
  const ReadTrace read = read_trace(
      "unisono-message-trace 1 # mine\r\n\nranks\t2\r\n# nothing\nrank 0\nsend 1\t1 2 0 8 # here\n");
  ASSERT_EQ(read.problem, "");
  EXPECT_EQ(read.trace.event_count(), 1U);
}

TEST(Trace, says_which_line_is_wrong) {
  EXPECT_EQ(read_trace("").problem, "it is empty");
  EXPECT_EQ(read_trace("unisono-message-trace 1\n").problem, "no line says how many ranks there are");
  EXPECT_EQ(problem_of("rank 4\n"), "line 3 wants a rank below 4");
  EXPECT_EQ(problem_of("rank 0\nrank 0\n"), "line 4 names a rank a second time");
  EXPECT_EQ(problem_of("ranks 4\n"), "line 3 says once more how many ranks there are");
  EXPECT_EQ(problem_of("send 1 1 2 0 8\n"), "line 3 stands before any rank");
  EXPECT_EQ(problem_of("nodes 1 2\n"), "line 3 has 2 nodes for 4 ranks");
  EXPECT_EQ(problem_of("rank 0\n\nsend 5 1 2 0 8\nsend 4 1 2 0 8\n"), "line 6 goes back in time");
  EXPECT_EQ(problem_of("rank 0\nfrob\n"), "line 4 begins with 'frob', which no line of a trace does");
  EXPECT_EQ(read_trace("unisono-message-trace 1\nrank 0\n").problem,
            "line 2 stands before the line that says how many ranks there are");
}

// Only the last line break may lack.
TEST(Trace, that_was_cut_is_refused_wherever_it_was) {
  const std::string text = std::string(marked_head) +
                           "mpi MPICH 5\nnodes 0 0 1 1\nrank 0\nrun 900\nexact 0\npost 1 0 1 5 0 8\n"
                           "arrive 2 1 5 0 8\nrank 1\nrun 900\ncount sends 1\nsend 1 0 5 0 80\nend\n";
  ASSERT_EQ(read_trace(text).problem, "");
  const std::size_t marked = text.find("ranks");
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    const std::string problem = read_trace(text.substr(0, size)).problem;
    if (size < marked) {
      EXPECT_NE(problem, "") << size;
    } else {
      EXPECT_EQ(problem, cut_short) << text.substr(0, size);
    }
  }
  EXPECT_EQ(read_trace(text.substr(0, text.size() - 1)).problem, "");
}

TEST(Trace, has_nothing_behind_its_end) {
  const std::string text = std::string(marked_head) + "rank 0\nend\n";
  EXPECT_EQ(read_trace(text + "\n# a comment\n").problem, "");
  EXPECT_EQ(read_trace(text + "rank 1\n").problem, "line 6 stands behind the trace's end");
  EXPECT_EQ(read_trace(text + text).problem, "line 6 stands behind the trace's end");
  EXPECT_EQ(problem_of("rank 0\nend\nsend 1 1 2 0 8\n"), "line 5 stands behind the trace's end");
  EXPECT_EQ(problem_of("rank 0\nend of it\n"), "line 4 has more words than 'end'");
  EXPECT_EQ(problem_of("with-end of it\n"), "line 3 has more words than 'with-end'");
}

TEST(Trace, takes_no_event_that_makes_no_sense) {
  for (const char* line :
       {"send 1 4 2 0 8", "send 1 -1 2 0 8", "send 1 any 2 0 8", "send 1 1 2 0", "send 1 1 2 0 8 9", "send",
        "done 1 0 any 2 8", "post 1 99999999999999999999 1 1 1 1", "post 1 0 1 2147483648 0 8",
        "post 1 0 1 1 1073741824 8", "post 1 0 1 1 0 99999999999999999999", "post 1.5 0 1 1 0 8", "cancel 1",
        "probe 1 0 0", "sample 1 x", "arrive 1 any 1 0 8", "send 1 1 2 0 8 collective 1 2 3",
        "send 1 1 2 0 8 collective 1 2 3 256"})
    EXPECT_TRUE(problem_of("rank 0\n" + std::string(line) + "\n").starts_with("line 4 is no '")) << line;
  EXPECT_TRUE(problem_of("ranks 0\n").starts_with("line 3"));
  EXPECT_EQ(read_trace("unisono-message-trace 1\nranks 99999999\n").problem,
            "line 2 wants a number of ranks from 1 to 4194304");
}

TEST(Patterns, are_traces) {
  for (const Pattern& pattern : patterns()) {
    const Trace trace = pattern.make(32, 3, 1);
    const ReadTrace read = read_trace(to_text(trace));
    ASSERT_EQ(read.problem, "") << pattern.name;
    EXPECT_GT(read.trace.event_count(), 0U) << pattern.name;
    EXPECT_EQ(to_text(read.trace), to_text(trace)) << pattern.name;
    EXPECT_NE(to_text(pattern.make(32, 3, 2)), to_text(trace)) << pattern.name;
  }
}

}  // namespace
}  // namespace unisono::traces
