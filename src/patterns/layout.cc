// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/layout.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <numeric>

#include "patterns/layout_text.h"
#include "patterns/numbers.h"

namespace unisono::patterns {

namespace {

constexpr int max_parsed_ranks = 1 << 20;

// Takes a number from 1 to max_parsed_ranks off the front of `text`.
std::optional<int> take_number(std::string_view* text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || value < 1 || value > max_parsed_ranks) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return value;
}

// "4x8", "3,5,8" or "8" -> ranks per node.
std::optional<std::vector<int>> parse_ranks_per_node(std::string_view text) {
  const auto first = take_number(&text);
  if (!first) return std::nullopt;
  std::vector<int> counts{*first};
  if (!text.empty() && text.front() == 'x') {
    text.remove_prefix(1);
    const auto ranks = take_number(&text);
    if (!ranks || static_cast<std::int64_t>(*first) * *ranks > max_parsed_ranks) return std::nullopt;
    counts.assign(static_cast<std::size_t>(*first), *ranks);
  }
  while (!text.empty() && text.front() == ',') {
    text.remove_prefix(1);
    const auto ranks = take_number(&text);
    if (!ranks) return std::nullopt;
    counts.push_back(*ranks);
  }
  return text.empty() ? std::optional(counts) : std::nullopt;
}

std::vector<int> labels_by_block(const std::vector<int>& counts) {
  std::vector<int> labels;
  for (int node = 0; node < static_cast<int>(counts.size()); ++node) {
    labels.insert(labels.end(), static_cast<std::size_t>(counts[node]), node);
  }
  return labels;
}

// One rank to each node in turn; full nodes are passed over.
std::vector<int> labels_by_turn(std::vector<int> counts) {
  std::vector<int> labels;
  const int size = std::accumulate(counts.begin(), counts.end(), 0);
  for (int node = 0; static_cast<int>(labels.size()) < size; node = (node + 1) % std::ssize(counts)) {
    if (counts[node] == 0) continue;
    --counts[node];
    labels.push_back(node);
  }
  return labels;
}

std::string counted(int count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

bool Layout::is_consecutive() const {
  for (const auto& ranks : ranks_of) {
    if (ranks.back() - ranks.front() + 1 != std::ssize(ranks)) return false;
  }
  return true;
}

bool Layout::is_aligned() const {
  return is_uniform() && is_consecutive() && is_power_of_two(static_cast<int>(ranks_of.front().size()));
}

bool Layout::is_uniform() const {
  for (const auto& ranks : ranks_of) {
    if (ranks.size() != ranks_of.front().size()) return false;
  }
  return true;
}

std::string Layout::describe() const {
  std::string text = counted(size(), "rank") + " on " + counted(nodes(), "node");
  if (nodes() == 1) return text;
  text += " (";
  if (is_uniform()) {
    text += counted(static_cast<int>(ranks_of.front().size()), "rank") + " each";
  } else {
    for (int node = 0; node < nodes(); ++node) {
      if (node > 0) text += "+";
      text += std::to_string(ranks_of[node].size());
    }
  }
  if (!is_consecutive()) text += ", not consecutive";
  text += ")";
  if (switches && switches->why_unusable.empty()) {
    const auto count = static_cast<int>(switches->names.size());
    text += " below " + std::to_string(count) + (count == 1 ? " switch" : " switches");
  }
  return text;
}

std::string Layout::text() const {
  std::string text;
  if (nodes() == 1) {
    text = std::to_string(size());
  } else if (is_uniform()) {
    text = std::to_string(nodes()) + "x" + std::to_string(local_size(0));
  } else {
    for (const auto& ranks : ranks_of) {
      if (!text.empty()) text += ',';
      text += std::to_string(ranks.size());
    }
  }
  return text + (is_consecutive() ? "" : "/cyclic");
}

Layout Layout::from_labels(const std::vector<int>& labels) {
  Layout layout;
  std::map<int, int> node_of_label;
  for (int rank = 0; rank < static_cast<int>(labels.size()); ++rank) {
    const auto [position, is_new] = node_of_label.try_emplace(labels[rank], layout.nodes());
    if (is_new) layout.ranks_of.emplace_back();
    auto& ranks = layout.ranks_of[position->second];
    layout.node_of.push_back(position->second);
    layout.local_rank_of.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(rank);
  }
  return layout;
}

Layout Layout::one_node(int size) {
  return from_labels(std::vector<int>(static_cast<std::size_t>(size), 0));
}

Layout Layout::of_ranks(const std::vector<int>& ranks) const {
  std::vector<int> labels;
  for (const int rank : ranks) labels.push_back(node_of[rank]);
  Layout some = from_labels(labels);
  some.switches = switches;
  for (const auto& of_node : some.ranks_of) {
    if (!switch_of.empty()) some.switch_of.push_back(switch_of[node_of[ranks[of_node.front()]]]);
  }
  return some;
}

std::optional<Layout> Layout::parse(std::string_view text) {
  constexpr std::string_view suffix = "/cyclic";
  const bool is_cyclic = text.ends_with(suffix);
  if (is_cyclic) text.remove_suffix(suffix.size());
  const auto counts = parse_ranks_per_node(text);
  if (!counts) return std::nullopt;
  if (std::accumulate(counts->begin(), counts->end(), std::int64_t{0}) > max_parsed_ranks)
    return std::nullopt;
  return from_labels(is_cyclic ? labels_by_turn(*counts) : labels_by_block(*counts));
}

std::string why_no_layout(std::string_view text) {
  // With ones in the place of its numbers it would be one: the numbers are too large.
  std::string ones;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) ones += c;
    if (is_digit && c != '0' && (ones.empty() || ones.back() != '1')) ones += '1';
  }
  if (Layout::parse(ones))
    return "is too large: a layout has at most " + std::to_string(max_parsed_ranks) + " ranks";
  return "is no layout: write 4x8 (4 nodes with 8 ranks each) or 3,5,8 (ranks per node), and /cyclic behind "
         "it "
         "where neighbours are on different nodes";
}

std::vector<int> node_order(const Layout& layout) {
  std::vector<int> order;
  for (const auto& ranks : layout.ranks_of) order.insert(order.end(), ranks.begin(), ranks.end());
  return order;
}

}  // namespace unisono::patterns
