// SPDX-License-Identifier: BSD-3-Clause
// Traces of a job's messages as text (docs/reference/trace-format.md): what ranks have sent, what they have
// asked for, and when that was there. B8.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "matching/envelope.h"

namespace unisono::traces {

enum class What : std::uint8_t { send, post, done, cancel, probe, arrive, sample };

inline constexpr std::uint32_t no_context = UINT32_MAX;

struct Event {
  std::uint64_t time_ns = 0;
  What what = What::send;
  std::uint32_t number = 0;  // of a receive, among those of its rank
  // Source or destination, tag, context and kind. Of a receive that is done: what it has got.
  matching::Envelope envelope;
  std::uint64_t bytes = 0;
  // Of a sample: how many messages (`bytes`) and receives (`number`) the MPI says that wait, of all
  // communicators (`context` is no_context) or of one.
};

struct RankTrace {
  std::uint64_t run_ns = 0;                     // from MPI_Init to MPI_Finalize; 0: not known
  std::uint64_t full_ns = UINT64_MAX;           // from then on nothing was recorded
  std::map<std::string, std::uint64_t> counts;  // what was counted beside the events
  std::vector<Event> events;

  // Communicators with the order of their queues themselves. Empty: all, if there are any arrivals.
  std::set<std::uint32_t> exact_contexts;

  // Found by settle().
  bool is_exact = false;  // in all of its communicators
  bool has_arrivals = false;

  bool is_exact_in(std::uint32_t context) const {
    return exact_contexts.empty() ? has_arrivals : exact_contexts.contains(context);
  }
  // Once all events are there.
  void settle();
};

struct Trace {
  int ranks = 0;
  std::string mpi;                   // "Open MPI 5.0.11"; empty: not known
  std::string messages = "off";      // option `messages` of the run
  std::vector<int> nodes;            // by rank; empty: not known
  std::map<int, RankTrace> of_rank;  // ranks without events may lack

  std::uint64_t event_count() const;
};

inline constexpr int most_ranks = 1 << 22;
inline constexpr std::size_t most_trace_bytes = std::size_t{4} << 30;

struct ReadTrace {
  Trace trace;
  std::string problem;  // "line 7 ..."; empty where the text could be read
};
ReadTrace read_trace(std::string_view text);
// With a mark at its end.
std::string to_text(const Trace& trace);

}  // namespace unisono::traces
