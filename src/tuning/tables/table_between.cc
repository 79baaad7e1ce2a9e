// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/tables/table_between.h"

#include <algorithm>

namespace unisono::tuning {
namespace {

// Where a value lies as seen from a range.
enum class Side { inside, below, above };

Side side_of(std::int64_t value, const Range& range) {
  if (range.contains(value)) return Side::inside;
  return value < range.first ? Side::below : Side::above;
}

// What a layout has more or less of than a rule is for.
enum class Dimension { nodes, ranks_per_node };

const Range& range_of(const Conditions& when, Dimension dimension) {
  return dimension == Dimension::nodes ? when.nodes : when.ranks_per_node;
}

struct Layout {
  std::int64_t nodes, ranks_per_node;
  std::int64_t along(Dimension dimension) const {
    return dimension == Dimension::nodes ? nodes : ranks_per_node;
  }
};

// Do two rules differ in nothing but the layouts and sizes that they are for?
bool are_of_one_kind(Conditions one, const Conditions& other) {
  one.nodes = other.nodes;
  one.ranks_per_node = other.ranks_per_node;
  one.bytes = other.bytes;
  return one == other;
}

// All that was timed for a rule.
std::vector<const Timed*> timed_of(const Rule& rule) {
  std::vector<const Timed*> list;
  if (rule.chosen.time_us > 0) list.push_back(&rule.chosen);
  for (const Timed& other : rule.others) {
    if (other.time_us > 0) list.push_back(&other);
  }
  return list;
}

// By sums, products and quotients alone, which all hosts round alike.
double at(std::int64_t value, std::int64_t low, double low_us, std::int64_t high, double high_us) {
  const double share = static_cast<double>(value - low) / static_cast<double>(high - low);
  return low_us + (high_us - low_us) * share;
}

// The nearest rules on both sides of the layout along one dimension, in which alone they miss it.
std::optional<Between> bracket(const std::vector<TableRules::Match>& matches, const Layout& layout,
                               std::int64_t bytes, Dimension dimension) {
  const Dimension other = dimension == Dimension::nodes ? Dimension::ranks_per_node : Dimension::nodes;
  const std::int64_t value = layout.along(dimension);
  Between between;
  for (const TableRules::Match& match : matches) {
    const Conditions& when = match.rule->when;
    if (!when.bytes.contains(bytes) || !range_of(when, other).contains(layout.along(other))) continue;
    const Side side = side_of(value, range_of(when, dimension));
    if (side == Side::inside) continue;
    std::optional<TableRules::Match>& place = side == Side::above ? between.low : between.high;
    const std::optional<TableRules::Match>& across = side == Side::above ? between.high : between.low;
    if (place || (across && !are_of_one_kind(when, across->rule->when))) continue;
    place = match;
  }
  if (!between.low || !between.high) return std::nullopt;
  const std::int64_t low = range_of(between.low->rule->when, dimension).last;
  const std::int64_t high = range_of(between.high->rule->when, dimension).first;
  for (const Timed* below : timed_of(*between.low->rule)) {
    for (const Timed* above : timed_of(*between.high->rule)) {
      if (to_text(below->algorithm) != to_text(above->algorithm)) continue;
      between.times.push_back(
          {.algorithm = below->algorithm, .time_us = at(value, low, below->time_us, high, above->time_us)});
    }
  }
  std::ranges::stable_sort(between.times, {}, &Timed::time_us);
  return between;
}

}  // namespace

std::optional<Between> between_rules(const std::vector<TableRules::Match>& matches, const Question& question,
                                     std::int64_t bytes) {
  if (matches.empty() || !matches.front().is_near) return std::nullopt;
  const Layout layout{question.problem.layout->nodes(), question.largest_node()};
  for (const Dimension dimension : {Dimension::ranks_per_node, Dimension::nodes}) {
    std::optional<Between> found = bracket(matches, layout, bytes, dimension);
    // Of what one side alone has timed nothing is known: the winner of one must be among those of both.
    if (found && found->times.size() > 1 && found->has_a_winner()) return found;
  }
  return std::nullopt;
}

bool Between::has_a_winner() const {
  return std::ranges::any_of(times, [&](const Timed& timed) {
    const std::string text = to_text(timed.algorithm);
    return text == to_text(low->rule->chosen.algorithm) || text == to_text(high->rule->chosen.algorithm);
  });
}

}  // namespace unisono::tuning
