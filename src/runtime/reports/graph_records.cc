// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/graph_records.h"

#include <algorithm>
#include <set>

#include "runtime/packing/neighborhood_state.h"

namespace unisono::runtime {

std::optional<GraphRecord> graph_record(const Communicator& c) {
  if (c.node.neighborhood == nullptr || c.node.neighborhood->neighbors == nullptr) return std::nullopt;
  const patterns::Neighbors& own = c.node.neighborhood->neighbors->of(c.rank);
  const auto is_there = [](const patterns::Neighbor& of) { return of.rank != patterns::no_neighbor; };
  GraphRecord record{.communicator = c.id,
                     .first = c.rank_in_world.front(),
                     .layout = c.layout->text(),
                     .size = c.size,
                     .rank = c.rank,
                     .ins = static_cast<std::uint64_t>(std::ranges::count_if(own.in, is_there)),
                     .outs = static_cast<std::uint64_t>(std::ranges::count_if(own.out, is_there)),
                     .destinations = {}};
  if (record.outs > GraphRecord::most_listed) return record;
  for (const patterns::Neighbor& to : own.out) {
    if (is_there(to)) record.destinations.push_back(to.rank);
  }
  return record;
}

void write(WireWriter* writer, const GraphRecord& record) {
  for (const int number : {record.communicator, record.first, record.size, record.rank})
    writer->integer(number);
  writer->text(record.layout);
  writer->number(record.ins);
  writer->number(record.outs);
  writer->list(record.destinations, [](WireWriter* to, int rank) { to->integer(rank); });
}

GraphRecord read_graph(WireReader* reader) {
  GraphRecord record{.layout = {}, .destinations = {}};
  for (int* number : {&record.communicator, &record.first, &record.size, &record.rank})
    *number = reader->whole();
  record.layout = reader->text();
  record.ins = reader->number();
  record.outs = reader->number();
  record.destinations = reader->list<int>([](WireReader* from) { return from->whole(); });
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < record.size; };
  if (!is_rank(record.rank) || !std::ranges::all_of(record.destinations, is_rank) ||
      (!record.destinations.empty() && record.destinations.size() != record.outs))
    reader->fail();
  return record;
}

void GraphsOfRanks::add(const std::vector<GraphRecord>& of_rank) {
  std::map<std::pair<int, int>, int> seen;
  for (const GraphRecord& record : of_rank)
    add(&graphs_[{record.communicator, record.first, seen[{record.communicator, record.first}]++}], record);
}

void GraphsOfRanks::add(Sum* sum, const GraphRecord& record) {
  JobGraph& graph = sum->graph;
  graph.communicator = record.communicator;
  graph.ranks = record.size;
  graph.layout = record.layout;
  graph.edges += record.outs;
  ++graph.out_degrees[record.outs];
  ++graph.in_degrees[record.ins];
  ++sum->ranks_told;
  if (graph.edges > most_edges) {
    graph.listed = {};
    return;
  }
  for (const int to : record.destinations) graph.listed.emplace_back(record.rank, to);
}

std::vector<JobGraph> GraphsOfRanks::joined() const {
  std::vector<JobGraph> graphs;
  int next = 0;
  for (const auto& [key, sum] : graphs_) {
    if (sum.ranks_told == sum.graph.ranks) graphs.push_back(sum.graph);
    next = std::max(next, sum.graph.communicator + 1);
  }
  std::set<int> numbers;
  for (JobGraph& graph : graphs) {
    if (!numbers.insert(graph.communicator).second) graph.communicator = next++;
  }
  return graphs;
}

}  // namespace unisono::runtime
