// SPDX-License-Identifier: BSD-3-Clause
// What a trace says of a job's queues: how long they were, for whom, and what looking through them has cost.
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/match_traces.h"

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

// Of receives and probes: how many were on communicators that Unisono carries, and on others.
struct Carriers {
  std::uint64_t unisono = 0, mpi = 0;
};

Carriers carriers_of(const traces::Trace& trace) {
  Carriers found;
  for (const auto& [rank, of_one] : trace.of_rank) {
    for (const traces::Event& event : of_one.events) {
      if (event.what != traces::What::post && event.what != traces::What::probe) continue;
      ++(of_one.is_exact_in(event.envelope.context) ? found.unisono : found.mpi);
    }
  }
  return found;
}

// Which structure has what the run had: where Unisono carried most receives its own, else what the MPI has.
// With option `messages` communicators may still be the MPI's, as those over several nodes.
std::string present_engine(const traces::Trace& trace, const Carriers& carriers) {
  if (trace.messages != "off" && carriers.unisono >= carriers.mpi) return "own";
  return trace.mpi.starts_with("Open MPI") ? "by_source" : "list";
}

struct Bound {
  Depths depths;
  double present_ns = 0, own_ns = 0;  // of the searches of one rank
};

// What the present MPI takes to look at an element of each queue, which lies anywhere in memory.
struct ElementCosts {
  double posted_ns, unexpected_ns;
};

// What our own structure takes is measured.
Bound bound_of(const traces::RankOrder& order, const RankOrders& of, int ranks, const std::string& present,
               const ElementCosts& costs) {
  Bound bound;
  const auto queues = traces::queues_for(*matching::find(present), ranks, of.profile);
  bound.depths = traces::depths_in(order, queues.get());
  const auto own = traces::queues_for(*matching::find("own"), ranks, of.profile);
  traces::meet_contexts(order, own.get());
  const double begin = cpu_ns();
  traces::replay(order, own.get());
  bound.own_ns = cpu_ns() - begin;
  const auto posted = static_cast<double>(bound.depths.posted.looked_at.sum);
  const auto unexpected = static_cast<double>(bound.depths.unexpected.looked_at.sum);
  const double looks_ns = posted * costs.posted_ns + unexpected * costs.unexpected_ns;
  bound.present_ns = present == "own" ? bound.own_ns : looks_ns;
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

// What the MPI itself says of how many wait in one queue, beside the range: in how many samples it lies
// inside. `said` and `waiting` are the members of traces::Agreement.
template <class Member>
ordered_json samples_of(const std::vector<traces::Agreement>& low, const std::vector<traces::Agreement>& high,
                        Member said, Member waiting) {
  Histogram told, lows, highs;
  std::uint64_t inside = 0;
  constexpr std::uint64_t near = 2;  // what just comes or goes
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::uint64_t by_mpi = low[i].*said;
    const std::uint64_t least = std::min(low[i].*waiting, high[i].*waiting);
    const std::uint64_t most = std::max(low[i].*waiting, high[i].*waiting);
    told.add(by_mpi);
    lows.add(least);
    highs.add(most);
    if (by_mpi + near >= least && by_mpi <= most + near) ++inside;
  }
  ordered_json found = to_json(told);
  found["low_mean"] = lows.mean();
  found["high_mean"] = highs.mean();
  found["inside"] = inside;
  return found;
}
// Of the messages, with the receives beside them.
ordered_json samples_of(const RankOrders& of) {
  using traces::Agreement;
  const std::vector<Agreement>& low = of.low.agreements;
  const std::vector<Agreement>& high = of.is_exact ? of.low.agreements : of.high.agreements;
  if (low.empty() || low.size() != high.size()) return {};
  ordered_json found = samples_of(low, high, &Agreement::said_messages, &Agreement::messages);
  found["receives"] = samples_of(low, high, &Agreement::said_receives, &Agreement::receives);
  return found;
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
  const Arguments arguments(words, {"file", "rank", "ps-per-receive", "ps-per-message"}, {"progress"});
  const traces::Trace trace = trace_from(arguments);
  const Carriers carriers = carriers_of(trace);
  const std::string present = present_engine(trace, carriers);
  constexpr std::int64_t standard_ps = 5000, most_ps = 1'000'000;
  const auto cost_ns = [&](const char* name) {
    return static_cast<double>(arguments.number(name, 1, most_ps, standard_ps)) * 1e-3;
  };
  const ElementCosts costs{.posted_ns = cost_ns("ps-per-receive"),
                           .unexpected_ns = cost_ns("ps-per-message")};
  const std::vector<RankOrders> all = orders_of(trace, arguments);
  Depths low_total, high_total;
  ordered_json ranks = ordered_json::array();
  double done = 0;
  for (const RankOrders& of : all) {
    tell_progress(arguments, done++ / static_cast<double>(all.size()), "searches");
    const Bound low = bound_of(of.low, of, trace.ranks, present, costs);
    const Bound high = of.is_exact ? low : bound_of(of.high, of, trace.ranks, present, costs);
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
                     {"mpi_samples", samples_of(of)},
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
              {"receives_by", {{"unisono", carriers.unisono}, {"mpi", carriers.mpi}}},
              {"ns_per_element", {{"posted", costs.posted_ns}, {"unexpected", costs.unexpected_ns}}},
              {"low", both(low_total)},
              {"high", both(high_total)},
              {"of_ranks", ranks}});
  return 0;
}

}  // namespace unisono::tool
