// SPDX-License-Identifier: BSD-3-Clause
// Traces like those of known programs, made up.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/near_names.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/match_traces.h"
#include "traces/patterns.h"

namespace unisono::tool {

int make_message_pattern(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"name", "ranks", "steps", "seed", "out"}, {});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::vector<std::string> names;
  for (const traces::Pattern& pattern : traces::patterns()) {
    names.emplace_back(pattern.name);
    list.push_back({{"name", pattern.name},
                    {"sentence", pattern.sentence},
                    {"ranks", pattern.standard_ranks},
                    {"steps", pattern.standard_steps}});
  }
  if (!arguments.has("name")) {
    print_line({{"patterns", list}});
    return 0;
  }
  const std::string name = arguments.text("name");
  for (const traces::Pattern& pattern : traces::patterns()) {
    if (pattern.name != name) continue;
    const auto ranks =
        static_cast<int>(arguments.number("ranks", 2, traces::most_pattern_ranks, pattern.standard_ranks));
    const auto steps = static_cast<int>(arguments.number("steps", 1, 1 << 16, pattern.standard_steps));
    constexpr std::uint64_t events_of_rank = 10;
    if (static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(steps) * events_of_rank >
        traces::most_pattern_events)
      throw UsageError("a trace of so many ranks and steps is too large: take fewer of one of them");
    const auto seed = static_cast<std::uint64_t>(arguments.number("seed", 0, INT64_MAX, 1));
    const traces::Trace trace = pattern.make(ranks, steps, seed);
    const std::string out = arguments.text("out");
    if (const std::string problem = replace_file(out, traces::to_text(trace)); !problem.empty())
      throw UsageError(out + " " + problem);
    print_line({{"file", out}, {"ranks", ranks}, {"steps", steps}, {"events", trace.event_count()}});
    return 0;
  }
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  throw UsageError("there is no pattern '" + name + "'" + did_you_mean(name, names) + "; there are " + known);
}

}  // namespace unisono::tool
