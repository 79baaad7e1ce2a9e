// SPDX-License-Identifier: BSD-3-Clause
// M3, section 4.2.1: how many elements make a peer a partner. Partners have put more than that into a queue.
#pragma once

#include <cstdint>
#include <vector>

#include "matching/catalogue.h"

namespace unisono::matching {

enum class EdgeMetric : std::uint8_t { average, median, upper_fence };

// `alpha` is of the upper fence alone.
double edge_point(std::vector<double> elements, EdgeMetric metric, double alpha);

struct EdgeRule {
  EdgeMetric metric = EdgeMetric::average;
  double alpha = 0;

  double of(std::vector<double> elements) const { return edge_point(std::move(elements), metric, alpha); }
};
// Two parameters of structures with partners, and what they say.
std::vector<Parameter> with_edge_parameters(std::vector<Parameter> parameters);
EdgeRule edge_rule(const Setup& setup);

}  // namespace unisono::matching
