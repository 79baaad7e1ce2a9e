// SPDX-License-Identifier: BSD-3-Clause
// What a trace says of a job's queues: how long they were, for whom, and what looking through them has cost.
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "tool/commands.h"
#include "tool/match_traces.h"
#include "tool/print.h"

namespace unisono::tool {
namespace {

using nlohmann::ordered_json;
using traces::Depths;
using traces::Histogram;

ordered_json to_json(const Histogram& histogram) {
  std::size_t used = histogram.counts.size();
  while (used > 0 && histogram.counts[used - 1] == 0) --used;
  ordered_json counts = ordered_json::array();
  for (std::size_t i = 0; i < used; ++i) counts.push_back(histogram.counts[i]);
  return {{"searches", histogram.searches},
          {"mean", histogram.mean()},
          {"max", histogram.most},
          {"counts", counts}};
}
ordered_json to_json(const traces::QueueDepths& depths) {
  return {{"lengths", to_json(depths.lengths)}, {"looked_at", to_json(depths.looked_at)}};
}

// Which structure has what the MPI of the run has.
std::string present_engine(const traces::Trace& trace) {
  if (trace.messages != "off") return "own";
  return trace.mpi.starts_with("Open MPI") ? "by_source" : "list";
}

struct Bound {
  Depths depths;
  double present_ns = 0, own_ns = 0;  // of the searches of one rank
};

// The present MPI looks at elements that lie anywhere in memory: so many times `ns_per_element`. What our own
// structure takes is measured.
Bound bound_of(const traces::RankOrder& order, const RankOrders& of, int ranks, const std::string& present,
               double ns_per_element) {
  Bound bound;
  const auto queues = traces::queues_for(*matching::find(present), ranks, of.profile);
  bound.depths = traces::depths_in(order, queues.get());
  const auto own = traces::queues_for(*matching::find("own"), ranks, of.profile);
  const double begin = cpu_ns();
  traces::replay(order, own.get());
  bound.own_ns = cpu_ns() - begin;
  const std::uint64_t looked_at = bound.depths.posted.looked_at.sum + bound.depths.unexpected.looked_at.sum;
  bound.present_ns = present == "own" ? bound.own_ns : static_cast<double>(looked_at) * ns_per_element;
  return bound;
}

ordered_json to_json(const Bound& bound) {
  return {{"present_ns", bound.present_ns},
          {"own_ns", bound.own_ns},
          {"posted", to_json(bound.depths.posted)},
          {"unexpected", to_json(bound.depths.unexpected)}};
}

void add(Depths* to, const Depths& from) {
  for (auto& [into, more] :
       {std::pair(&to->posted, &from.posted), std::pair(&to->unexpected, &from.unexpected)}) {
    into->lengths.add(more->lengths);
    into->looked_at.add(more->looked_at);
  }
}

// [source, messages, looked at, low and high]
ordered_json peers(const Bound& low, const Bound& high) {
  ordered_json list = ordered_json::array();
  for (const auto& [source, peer] : low.depths.of_peer) {
    const auto found = high.depths.of_peer.find(source);
    const std::uint64_t looked_at =
        found == high.depths.of_peer.end() ? peer.looked_at : found->second.looked_at;
    list.push_back(
        {source, peer.messages, std::min(peer.looked_at, looked_at), std::max(peer.looked_at, looked_at)});
  }
  return list;
}

ordered_json samples_of(const traces::RankTrace& of_one) {
  Histogram samples;
  for (const traces::Event& event : of_one.events)
    if (event.what == traces::What::sample) samples.add(event.bytes);
  return samples.searches == 0 ? ordered_json() : to_json(samples);
}

// Of all ranks, also of those whose queues have seen nothing.
std::map<std::string, std::uint64_t> counts_of(const traces::Trace& trace) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [rank, of_one] : trace.of_rank)
    for (const auto& [name, count] : of_one.counts) counts[name] += count;
  return counts;
}
std::ptrdiff_t full_ranks(const traces::Trace& trace) {
  return std::ranges::count_if(trace.of_rank,
                               [](const auto& of_one) { return of_one.second.full_ns != UINT64_MAX; });
}

bool has_several_nodes(const traces::Trace& trace) {
  return std::ranges::any_of(trace.nodes, [&](int node) { return node != trace.nodes.front(); });
}

}  // namespace

int report_on_messages(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"file", "rank", "ns-per-element"}, {"progress"});
  const traces::Trace trace = trace_from(arguments);
  const std::string present = present_engine(trace);
  constexpr std::int64_t standard_ns = 5;
  const auto ns = static_cast<double>(arguments.number("ns-per-element", 1, 1000, standard_ns));
  const std::vector<RankOrders> all = orders_of(trace, arguments);
  Depths low_total, high_total;
  ordered_json ranks = ordered_json::array();
  double done = 0;
  for (const RankOrders& of : all) {
    tell_progress(arguments, done++ / static_cast<double>(all.size()), "searches");
    const Bound low = bound_of(of.low, of, trace.ranks, present, ns);
    const Bound high = of.is_exact ? low : bound_of(of.high, of, trace.ranks, present, ns);
    add(&low_total, low.depths);
    add(&high_total, high.depths);
    const traces::RankTrace& of_one = trace.of_rank.at(of.rank);
    ranks.push_back({{"rank", of.rank},
                     {"run_ns", of_one.run_ns},
                     {"is_exact", of.is_exact},
                     {"receives",
                      {{"as_recorded", of.low.as_recorded},
                       {"otherwise", of.low.otherwise},
                       {"unmatched", of.low.unmatched}}},
                     {"low", to_json(low)},
                     {"high", to_json(high)},
                     {"mpi_samples", samples_of(of_one)},
                     {"peers", peers(low, high)}});
  }
  const auto both = [](const Depths& depths) {
    return ordered_json{{"posted", to_json(depths.posted)}, {"unexpected", to_json(depths.unexpected)}};
  };
  print_line({{"file", arguments.text("file")},
              {"ranks", trace.ranks},
              {"mpi", trace.mpi},
              {"messages", trace.messages},
              {"several_nodes", has_several_nodes(trace)},
              {"is_exact", std::ranges::all_of(all, &RankOrders::is_exact)},
              {"full_ranks", full_ranks(trace)},
              {"counts", counts_of(trace)},
              {"present", present},
              {"ns_per_element", ns},
              {"low", both(low_total)},
              {"high", both(high_total)},
              {"of_ranks", ranks}});
  return 0;
}

}  // namespace unisono::tool
