// SPDX-License-Identifier: BSD-3-Clause
// Space-time diagrams of programs (B6): ranks side by side, grouped by nodes; time runs down, a row for each
// round. As text for a terminal, as SVG, and as JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "schedule/program.h"

namespace unisono::pictures {

// What is drawn: the programs of all ranks, and what is said about them.
struct Picture {
  Operation operation = Operation::barrier;
  std::string algorithm;
  std::string sentence;
  std::string source;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::shared_ptr<const patterns::Layout> layout;  // of all ranks; never null
  int root = 0;
  std::vector<schedule::Program> programs;  // by rank
  // Of neighbours: whom each rank sends to, and how that was written; null elsewhere.
  std::shared_ptr<const patterns::Neighborhood> neighborhood = nullptr;
  std::string graph = {};
  // Elements of one byte that the call moves (block operations: in a block). Given, steps that touch no
  // element are left out; otherwise all are drawn.
  std::optional<std::int64_t> count;
};

// All of them throw std::invalid_argument where a message is sent and not received, or the other way round.
// Lines of at most `width` columns: ranks as columns, or, where they do not fit, a line for each rank and
// round.
std::string to_text(const Picture& picture, int width = 100);
// Whole in itself: no outside fonts, no scripts. Each step says what it moves when the pointer rests on it.
std::string to_svg(const Picture& picture);
// {"operation", "algorithm", "parameters", "ranks", "layout", "stages": [{"rounds": [{"steps": [...]}]}]}
std::string to_json(const Picture& picture);

}  // namespace unisono::pictures
