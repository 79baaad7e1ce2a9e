// SPDX-License-Identifier: BSD-3-Clause
// What a run has put into its queues, as a file that structures of a later run are made by (M2, M3).
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/match_traces.h"

namespace unisono::tool {
namespace {

std::uint64_t sum(const matching::ElementCounts& counts) {
  std::uint64_t all = 0;
  for (const auto& [place, elements] : counts) all += elements;
  return all;
}

}  // namespace

int write_queue_profile(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"file", "rank", "out"}, {"progress"});
  const traces::Trace trace = trace_from(arguments);
  std::map<int, matching::Profile> of_ranks;
  std::uint64_t posted = 0, unexpected = 0;
  for (RankOrders& of : orders_of(trace, arguments)) {
    posted += sum(of.profile.posted);
    unexpected += sum(of.profile.unexpected);
    of_ranks.emplace(of.rank, std::move(of.profile));
  }
  const std::string out = arguments.text("out");
  // Of a trace without messages nothing is written: that is no profile to go by.
  const std::string problem =
      of_ranks.empty() ? "" : replace_file(out, matching::to_text(trace.ranks, of_ranks));
  if (!problem.empty()) throw UsageError(out + " " + problem);
  print_line({{"file", out},
              {"ranks", trace.ranks},
              {"ranks_with_events", of_ranks.size()},
              {"counts", counts_of(trace)},
              {"posted", posted},
              {"unexpected", unexpected}});
  return 0;
}

}  // namespace unisono::tool
