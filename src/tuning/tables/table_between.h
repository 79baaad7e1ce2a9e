// SPDX-License-Identifier: BSD-3-Clause
// Layouts between two that were tuned: what both have timed is interpolated (B4; docs/guide/tables.md).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tuning/tables/table.h"

namespace unisono::tuning {

// Two near rules that differ in nodes, or in ranks per node, alone, one for fewer and one for more of them
// than a question's layout has.
struct Between {
  std::optional<TableRules::Match> low, high;
  std::vector<Timed>
      times;  // of the algorithms that both have timed, for the layout between; the fastest first

  // Is what one of them has chosen among these?
  bool has_a_winner() const;
};

// Of a question's matches, in their order; `bytes`: the upper end of its size class. None where a rule holds
// for just this layout, or fewer than two algorithms were timed on both sides.
std::optional<Between> between_rules(const std::vector<TableRules::Match>& matches, const Question& question,
                                     std::int64_t bytes);

}  // namespace unisono::tuning
