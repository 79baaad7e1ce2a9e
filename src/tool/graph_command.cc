// SPDX-License-Identifier: BSD-3-Clause
// What a graph of neighbours costs: messages, bytes, rounds, set-up and predicted time of each method. C1-C8.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/options.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/graph_methods.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

using nlohmann::ordered_json;
using patterns::Traffic;
using std::chrono::steady_clock;

ordered_json mean_and_most(const std::vector<std::int64_t>& counts) {
  const auto sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  return {{"mean", counts.empty() ? 0 : sum / static_cast<double>(counts.size())},
          {"most", counts.empty() ? 0 : std::ranges::max(counts)}};
}

// How many ranks have how many neighbours: [least, most, ranks] each; of many degrees several share a line.
ordered_json degrees_of(const patterns::Neighborhood& graph, bool are_out) {
  std::vector<std::int64_t> degrees;
  for (int rank = 0; rank < graph.size(); ++rank) {
    const auto& list = are_out ? graph.of(rank).out : graph.of(rank).in;
    degrees.push_back(
        std::ranges::count_if(list, [](const auto& other) { return other.rank != patterns::no_neighbor; }));
  }
  const auto [least, most] = std::ranges::minmax(degrees);
  constexpr std::int64_t most_lines = 32;
  const std::int64_t width = (most - least) / most_lines + 1;
  std::map<std::int64_t, std::int64_t> lines;
  for (const std::int64_t degree : degrees) ++lines[(degree - least) / width];
  ordered_json histogram = ordered_json::array();
  for (const auto& [line, ranks] : lines)
    histogram.push_back({least + line * width, std::min(most, least + (line + 1) * width - 1), ranks});
  ordered_json json = mean_and_most(degrees);
  json["least"] = least;
  json["histogram"] = histogram;
  return json;
}

// What no method can do with less: of allgather.
ordered_json bounds_of(const GraphQuestion& question) {
  const auto& layout = question.graph.layout;
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(layout.nodes()));
  std::vector<std::int64_t> pairs;
  for (std::size_t rank = 0; rank < question.destinations.size(); ++rank) {
    std::vector<int> nodes;
    for (const int to : question.destinations[rank])
      nodes.push_back(layout.node_of[static_cast<std::size_t>(to)]);
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    const int own = layout.node_of[rank];
    for (const int node : nodes) {
      if (node == own) continue;
      ++blocks[static_cast<std::size_t>(node)];
      pairs.push_back(static_cast<std::int64_t>(own) * layout.nodes() + node);
    }
  }
  std::ranges::sort(pairs);
  return {{"node_pairs", std::ranges::unique(pairs).begin() - pairs.begin()},
          {"blocks_into_node", mean_and_most(blocks)}};
}

ordered_json matrix_of(const Traffic& traffic) {
  ordered_json rows = ordered_json::array();
  const auto cells = static_cast<std::size_t>(traffic.cells());
  for (std::size_t row = 0; row < cells; ++row) {
    const auto first = traffic.matrix().begin() + static_cast<std::ptrdiff_t>(row * cells);
    rows.push_back(std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(cells)));
  }
  return rows;
}

ordered_json to_json(const std::string& name, const Measured& measured, const std::vector<double>& us,
                     const std::vector<double>& linear_us) {
  const Traffic& traffic = measured.traffic;
  const auto& away = traffic.sent_away();
  ordered_json json = {{"method", name},
                       {"problem", measured.problem},
                       {"messages", mean_and_most(traffic.sent())},
                       {"messages_between", mean_and_most(away)},
                       {"all_messages_between", std::accumulate(away.begin(), away.end(), std::int64_t{0})},
                       {"blocks", traffic.blocks()},
                       {"blocks_into_node", mean_and_most(traffic.blocks_into())}};
  const auto has_messages = [](const patterns::Phase& phase) { return phase.messages > 0; };
  json["rounds"] = std::ranges::count_if(traffic.phases(), has_messages);
  json["setup_us"] = measured.setup_us;
  json["setup_bytes_per_rank"] = measured.setup_bytes;
  json["us"] = us;
  ordered_json calls = ordered_json::array();
  for (std::size_t i = 0; i < us.size(); ++i) {
    const double saved = linear_us[i] - us[i];
    calls.push_back(saved > 0 ? ordered_json(std::max(1.0, measured.setup_us / saved)) : ordered_json());
  }
  json["break_even_calls"] = calls;
  if (measured.hyperedges >= 0) {
    json["hyperedges"] = measured.hyperedges;
    json["are_all_hyperedges_counted"] = measured.are_all_counted;
  }
  if (measured.request_rounds > 0) json["request_rounds"] = measured.request_rounds;
  json["matrix"] = matrix_of(traffic);
  return json;
}

std::vector<std::int64_t> sizes_from(const Arguments& arguments) {
  std::vector<std::int64_t> sizes;
  constexpr std::int64_t most = std::int64_t{1} << 40;
  for (const std::string& text : arguments.all("bytes")) {
    sizes.push_back(bytes_from_text(text));
    if (sizes.back() < 0 || sizes.back() > most)
      throw UsageError("--bytes takes a size such as 8, 64K or 1M, not '" + text + "'");
  }
  return sizes.empty() ? std::vector<std::int64_t>{8} : sizes;
}

// Lines that say how far the work is, not too many.
std::function<void(double)> progress_of(const std::string& name, std::size_t index, std::size_t count) {
  return [=, last = steady_clock::now()](double share) mutable {
    constexpr auto interval = std::chrono::milliseconds(200);
    if (const auto now = steady_clock::now(); now - last >= interval) {
      last = now;
      print_line({{"progress", (static_cast<double>(index) + share) / static_cast<double>(count)},
                  {"method", name}});
    }
  };
}

bool is_for_one_block(const Arguments& arguments) {
  const std::string name = arguments.text("operation", "neighbor_allgather");
  if (name == "neighbor_allgather") return true;
  if (name == "neighbor_alltoall") return false;
  throw UsageError("--operation takes neighbor_allgather or neighbor_alltoall, not '" + name + "'");
}

void print_methods(const std::vector<GraphMethod>& methods, const std::vector<std::int64_t>& sizes,
                   bool has_progress, GraphQuestion* question) {
  std::vector<double> linear_us;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (has_progress) {
      question->progress = progress_of(methods[i].name, i, methods.size());
      print_line({{"progress", static_cast<double>(i) / static_cast<double>(methods.size())},
                  {"method", methods[i].name}});
    }
    const Measured measured = methods[i].measure(*question);
    std::vector<double> us;
    for (const std::int64_t bytes : sizes) us.push_back(time_us(measured.traffic, question->costs, bytes));
    if (linear_us.empty()) linear_us = us;
    print_line(to_json(methods[i].name, measured, us, linear_us));
  }
}

}  // namespace

int describe_graph(const std::vector<std::string>& words) {
  const Arguments arguments(
      words, {"graph", "edges", "ranks", "ppn", "layout", "bytes", "operation", "method", "most-steps"},
      {"progress", "hyperedges"});
  const bool has_one_block = is_for_one_block(arguments);
  const std::vector<std::int64_t> sizes = sizes_from(arguments);
  if (arguments.has("progress")) print_line({{"progress", 0}, {"method", "graph"}});
  const AskedGraph graph = asked_graph(arguments);
  const patterns::Destinations destinations = patterns::destinations_of(graph.neighborhood);
  GraphQuestion question{graph, destinations, {}, has_one_block, arguments.has("hyperedges"), 0, nullptr};
  constexpr std::int64_t standard_steps = 200'000'000;
  question.most_steps = arguments.number("most-steps", 1, std::int64_t{1} << 50, standard_steps);
  std::vector<std::string> names =
      arguments.has("method") ? arguments.all("method") : standard_methods(question);
  // What the others are compared with.
  std::erase(names, "linear");
  names.insert(names.begin(), "linear");
  std::vector<GraphMethod> methods;
  for (const std::string& name : names) methods.push_back(method_from(name, question));
  ordered_json head = {
      {"graph", graph.text}, {"ranks", graph.layout.size()}, {"nodes", graph.layout.nodes()}};
  constexpr std::size_t most_letters = 80;
  head["layout"] = graph.layout.describe();
  if (graph.layout.describe().size() > most_letters)
    head["layout"] =
        std::to_string(graph.layout.size()) + " ranks on " + std::to_string(graph.layout.nodes()) + " nodes";
  head["operation"] = has_one_block ? "neighbor_allgather" : "neighbor_alltoall";
  head["bytes"] = sizes;
  head["out"] = degrees_of(graph.neighborhood, true);
  head["in"] = degrees_of(graph.neighborhood, false);
  head["bounds"] = bounds_of(question);
  print_line(head);
  print_methods(methods, sizes, arguments.has("progress"), &question);
  return 0;
}

}  // namespace unisono::tool
