// SPDX-License-Identifier: BSD-3-Clause
#include "tool/graph_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "patterns/graphs.h"
#include "patterns/layout_text.h"
#include "tool/layouts.h"

namespace unisono::tool {
namespace {

using patterns::Layout;
using patterns::Neighborhood;

constexpr std::int64_t most_edges = std::int64_t{16} << 20;
constexpr std::size_t bytes_of_edge = 8;

void check_edges(double edges) {
  if (edges > static_cast<double>(most_edges)) {
    throw UsageError("the graph has about " + std::to_string(static_cast<std::int64_t>(edges)) +
                     " edges; at most " + std::to_string(most_edges) + " are looked at");
  }
}

// The numbers of "moore:2,4" or "cart:4x4x4,periodic".
std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t i = std::min(text.find(':'), text.size()); i < text.size(); ++i) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (error != std::errc()) continue;
    numbers.push_back(number);
    i = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

// Before it is made: what takes too much memory is not tried.
double expected_edges(std::string_view text, double ranks) {
  const std::vector<double> numbers = numbers_in(text);
  if (text == "complete") return ranks * ranks;
  if (text.starts_with("random") && !numbers.empty()) return numbers[0] * ranks * ranks;
  if (text.starts_with("moore") && numbers.size() > 1)
    return ranks * std::min(ranks, std::pow(2 * numbers[1] + 1, numbers[0]));
  return ranks;
}

std::vector<int> extents_in(std::string_view text, int ranks) {
  const std::vector<double> numbers = numbers_in(text);
  if (text.starts_with("moore")) return patterns::even_extents(ranks, static_cast<int>(numbers[0]));
  if (text.starts_with("cart")) return {numbers.begin(), numbers.end()};
  return {};
}

std::uint32_t number_at(const std::string& text, std::size_t offset) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i)
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[offset + i])) << (8 * i);
  return number;
}

Layout layout_of(const Arguments& arguments, int ranks) {
  if (arguments.has("layout")) {
    const std::string text = arguments.text("layout");
    const auto layout = Layout::parse(text);
    if (!layout) throw UsageError("--layout " + text + " " + patterns::why_no_layout(text));
    if (layout->size() != ranks) {
      throw UsageError("--layout " + text + " holds " + std::to_string(layout->size()) +
                       " ranks, the graph has " + std::to_string(ranks));
    }
    return *layout;
  }
  const auto per_node = static_cast<int>(arguments.number("ppn", 1, most_described_ranks, ranks));
  std::vector<int> labels;
  for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank / per_node);
  return Layout::from_labels(labels);
}

}  // namespace

Neighborhood read_edges(const std::string& path) {
  constexpr std::size_t most_bytes = static_cast<std::size_t>(most_edges) * bytes_of_edge + 256;
  const ReadFile file = read_file(path, most_bytes);
  if (!file.text) throw UsageError("--edges: " + path + " " + file.problem);
  const std::string& text = *file.text;
  const std::size_t begin = std::min(text.find('\n'), text.size());
  std::istringstream header(text.substr(0, begin));
  std::string first, second;
  std::int64_t version = 0, ranks = 0, edges = 0;
  header >> first >> second >> version >> ranks >> edges;
  const bool is_whole = header && first == "unisono" && second == "edges" && version == 1 && ranks > 0 &&
                        ranks <= most_described_ranks && edges >= 0 && edges <= most_edges &&
                        text.size() == begin + 1 + static_cast<std::size_t>(edges) * bytes_of_edge;
  if (!is_whole) throw UsageError("--edges: " + path + " is no list of edges, or not whole");
  std::vector<std::vector<int>> in(static_cast<std::size_t>(ranks)), out(in.size());
  for (std::size_t offset = begin + 1; offset < text.size(); offset += bytes_of_edge) {
    const std::uint32_t from = number_at(text, offset), to = number_at(text, offset + bytes_of_edge / 2);
    if (from >= in.size() || to >= in.size())
      throw UsageError("--edges: " + path + " names a rank that is none of " + std::to_string(ranks));
    out[from].push_back(static_cast<int>(to));
    in[to].push_back(static_cast<int>(from));
  }
  Neighborhood neighborhood(static_cast<int>(ranks));
  for (std::size_t rank = 0; rank < in.size(); ++rank)
    neighborhood.set(static_cast<int>(rank), patterns::graph_neighbors(in[rank], out[rank]));
  return neighborhood;
}

AskedGraph asked_graph(const Arguments& arguments) {
  if (arguments.has("edges")) {
    Neighborhood neighborhood = read_edges(arguments.text("edges"));
    const int ranks = neighborhood.size();
    return {std::move(neighborhood), layout_of(arguments, ranks), "", {}};
  }
  const std::string text = arguments.text("graph");
  const auto ranks = static_cast<int>(arguments.number("ranks", 1, most_described_ranks, 0));
  if (ranks == 0) throw UsageError("say how many ranks: --ranks");
  check_edges(expected_edges(text, ranks));
  auto graph = patterns::parse_graph(text, ranks);
  if (!graph) throw UsageError("--graph " + text + ": " + patterns::why_no_graph(text, ranks));
  return {*std::move(graph), layout_of(arguments, ranks), text, extents_in(text, ranks)};
}

}  // namespace unisono::tool
