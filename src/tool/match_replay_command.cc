// SPDX-License-Identifier: BSD-3-Clause
// A trace of messages through every structure: what each would have cost.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/match_traces.h"

namespace unisono::tool {
namespace {

using nlohmann::ordered_json;
using traces::RankOrder;

struct Cost {
  double ns = 0;
  traces::LookedByKind looked;
  std::size_t memory = 0, most_memory = 0;
};

// The best of some replays, fewer where one takes long.
void add_cost(const RankOrder& order, const RankOrders& of, const Engine& engine, int ranks, Cost* cost) {
  double best = 1e300;
  constexpr int most = 5;
  constexpr double enough_ns = 5e7;
  double spent = 0;
  for (int i = 0; i < most && spent < enough_ns; ++i) {
    const auto queues = engine.queues(ranks, &of.profile);
    traces::meet_contexts(order, queues.get());
    const double begin = cpu_ns();
    traces::replay(order, queues.get());
    const double took = cpu_ns() - begin;
    spent += took;
    best = std::min(best, took);
    if (i != 0) continue;
    const std::size_t memory = queues->memory_bytes();
    cost->memory += memory;
    cost->most_memory = std::max(cost->most_memory, memory);
  }
  cost->ns += best;
  const auto queues = engine.queues(ranks, &of.profile);
  const traces::LookedByKind looked = traces::looked_by_kind(order, queues.get());
  for (const std::size_t queue : {0, 1}) {
    for (const bool is_collective : {false, true}) {
      const traces::Looked& more = is_collective ? looked.of_collectives : looked.of_program;
      traces::Looked& all = is_collective ? cost->looked.of_collectives : cost->looked.of_program;
      all.searches[queue] += more.searches[queue];
      all.traversals[queue] += more.traversals[queue];
    }
  }
}

ordered_json to_json(const Cost& cost) {
  const traces::Looked &own = cost.looked.of_program, &collective = cost.looked.of_collectives;
  std::uint64_t searches = 0;
  const auto each = [&](std::size_t queue) {
    const std::uint64_t of_queue = own.searches[queue] + collective.searches[queue];
    searches += of_queue;
    return ordered_json{{"searches", of_queue},
                        {"traversals", own.traversals[queue] + collective.traversals[queue]}};
  };
  ordered_json posted = each(0), unexpected = each(1);
  if (collective.searches[0] + collective.searches[1] != 0) {
    posted["of_collectives"] = {{"searches", collective.searches[0]},
                                {"traversals", collective.traversals[0]}};
    unexpected["of_collectives"] = {{"searches", collective.searches[1]},
                                    {"traversals", collective.traversals[1]}};
  }
  return {
      {"ns", cost.ns},         {"ns_per_search", searches == 0 ? 0 : cost.ns / static_cast<double>(searches)},
      {"posted", posted},      {"unexpected", unexpected},
      {"memory", cost.memory}, {"most_memory", cost.most_memory}};
}

ordered_json searches_in(const traces::Histogram& histogram) {
  return {{"searches", histogram.searches}, {"mean", histogram.mean()}, {"max", histogram.most}};
}

ordered_json depths(const std::vector<RankOrders>& all, int ranks, bool is_high) {
  traces::Histogram posted, unexpected;
  for (const RankOrders& of : all) {
    const auto queues = traces::queues_for(*matching::find("list"), ranks, of.profile);
    const traces::Depths found = traces::depths_in(is_high && !of.is_exact ? of.high : of.low, queues.get());
    posted.add(found.posted.lengths);
    unexpected.add(found.unexpected.lengths);
  }
  return {{"posted", searches_in(posted)}, {"unexpected", searches_in(unexpected)}};
}

}  // namespace

int replay_messages(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"file", "engine", "rank", "profile"}, {"progress"});
  const std::vector<Engine> engines = engines_from(arguments);
  const traces::Trace trace = trace_from(arguments);
  std::vector<RankOrders> all = orders_of(trace, arguments);
  take_profiles(arguments, trace.ranks, &all);
  const bool is_exact = std::ranges::all_of(all, &RankOrders::is_exact);
  ordered_json head = {{"file", arguments.text("file")},
                       {"ranks", trace.ranks},
                       {"ranks_with_events", all.size()},
                       {"mpi", trace.mpi},
                       {"messages", trace.messages},
                       {"counts", counts_of(trace)},
                       {"profile", arguments.text("profile", "")},
                       {"events", trace.event_count()},
                       {"is_exact", is_exact}};
  head["depths"] = {{"low", depths(all, trace.ranks, false)}};
  if (!is_exact) head["depths"]["high"] = depths(all, trace.ranks, true);
  std::uint64_t as_recorded = 0, otherwise = 0, unmatched = 0;
  for (const RankOrders& of : all) {
    as_recorded += of.low.as_recorded;
    otherwise += of.low.otherwise;
    unmatched += of.low.unmatched;
  }
  head["receives"] = {{"as_recorded", as_recorded}, {"otherwise", otherwise}, {"unmatched", unmatched}};
  print_line(head);
  double done = 0;
  for (const Engine& engine : engines) {
    Cost low, high;
    for (const RankOrders& of : all) {
      tell_progress(arguments, done++ / static_cast<double>(engines.size() * all.size()), engine.text);
      add_cost(of.low, of, engine, trace.ranks, &low);
      if (!of.is_exact) add_cost(of.high, of, engine, trace.ranks, &high);
    }
    ordered_json line = {
        {"engine", engine.text}, {"source", engine.descriptor->source}, {"low", to_json(low)}};
    if (!is_exact) line["high"] = to_json(high);
    print_line(line);
  }
  return 0;
}

}  // namespace unisono::tool
