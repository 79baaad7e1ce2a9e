// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_values.h"

#include <algorithm>

namespace unisono::proof {

std::int32_t Expressions::leaf(int call, int rank) {
  if (static_cast<std::size_t>(call) >= leaves_.size()) leaves_.resize(call + 1);
  if (leaves_[call].empty()) leaves_[call].assign(ranks_, -1);
  std::int32_t& value = leaves_[call][rank];
  if (value < 0) {
    value = static_cast<std::int32_t>(nodes_.size());
    const std::size_t members = members_.size();
    members_.resize(members + words_, 0);
    members_[members + rank / 64] |= std::uint64_t{1} << (rank % 64);
    nodes_.push_back({call, 1, rank, rank, true, members});
  }
  return value;
}

bool Expressions::overlap(const Node& a, const Node& b) const {
  if (a.last < b.first || b.last < a.first) return false;
  for (std::size_t word = 0; word < words_; ++word) {
    if ((members_[a.members + word] & members_[b.members + word]) != 0) return true;
  }
  return false;
}

std::int32_t Expressions::combine(std::int32_t left, std::int32_t right, bool is_commutative) {
  if (left < 0 || right < 0) return static_cast<std::int32_t>(Fault::undefined);
  if (is_commutative && left > right) std::swap(left, right);
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  const auto known = combined_.find(key);
  if (known != combined_.end()) return known->second;

  const Node a = nodes_[left];
  const Node b = nodes_[right];
  if (a.call != b.call) return static_cast<std::int32_t>(Fault::mixed_calls);
  if (overlap(a, b)) return static_cast<std::int32_t>(Fault::twice);
  if (!is_commutative) {
    const bool is_run = a.contributions == a.last - a.first + 1 && b.contributions == b.last - b.first + 1;
    if (!is_run || b.first != a.last + 1) return static_cast<std::int32_t>(Fault::order);
  }
  const std::size_t members = members_.size();
  members_.resize(members + words_);
  for (std::size_t word = 0; word < words_; ++word) {
    members_[members + word] = members_[a.members + word] | members_[b.members + word];
  }
  const auto value = static_cast<std::int32_t>(nodes_.size());
  nodes_.push_back({a.call, a.contributions + b.contributions, std::min(a.first, b.first),
                    std::max(a.last, b.last), false, members});
  combined_.emplace(key, value);
  return value;
}

std::int32_t Expressions::in_one_order(int call, int count, bool is_scan) {
  std::vector<std::int32_t> values;
  for (int rank = 0; rank < count; ++rank) values.push_back(leaf(call, rank));
  if (is_scan) {
    std::int32_t joined = values.front();
    for (int rank = 1; rank < count; ++rank) joined = combine(joined, values[rank], false);
    return joined;
  }
  int members = 1;
  while (2 * members <= count) members *= 2;
  // One round joins the first pairs and leaves a power of two; all rounds behind it join all pairs.
  for (int pairs = count - members; values.size() > 1; pairs = static_cast<int>(values.size()) / 2) {
    std::vector<std::int32_t> next;
    for (int pair = 0; pair < pairs; ++pair) {
      next.push_back(combine(values[2 * pair], values[2 * pair + 1], false));
    }
    next.insert(next.end(), values.begin() + 2 * pairs, values.end());
    values = std::move(next);
  }
  return values.front();
}

std::string Expressions::describe(std::int32_t value) const {
  if (value < 0) return "nothing (never written)";
  const Node& node = nodes_[value];
  if (node.is_leaf) return "data of rank " + std::to_string(node.first);
  std::string text = "the combination of ranks";
  for (int rank = node.first; rank <= node.last; ++rank) {
    if ((members_[node.members + rank / 64] >> (rank % 64) & 1) == 0) continue;
    int last = rank;
    while (last < node.last && (members_[node.members + (last + 1) / 64] >> ((last + 1) % 64) & 1) != 0)
      ++last;
    text += ' ';
    text += std::to_string(rank);
    if (last > rank) {
      text += '-';
      text += std::to_string(last);
    }
    rank = last;
  }
  return text;
}

const char* Expressions::describe(Fault fault) {
  switch (fault) {
    case Fault::undefined:
      return "combines data that was never written";
    case Fault::mixed_calls:
      return "combines data of different calls";
    case Fault::twice:
      return "combines a contribution twice";
    case Fault::order:
      return "combines in an order that only a commutative operator allows";
  }
  return "";
}

}  // namespace unisono::proof
