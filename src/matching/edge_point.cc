// SPDX-License-Identifier: BSD-3-Clause
#include "matching/edge_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace unisono::matching {
namespace {

// By linear interpolation: the source does not say how it finds quartiles.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

// Equation 4.2 is printed with a minus, Q3 - alpha (Q3 - Q1), where an upper fence has a plus. It is taken as
// printed; the source's results have alpha = 0, where both are Q3.
double edge_point(std::vector<double> elements, EdgeMetric metric, double alpha) {
  if (metric == EdgeMetric::average)
    return std::accumulate(elements.begin(), elements.end(), 0.0) / static_cast<double>(elements.size());
  std::ranges::sort(elements);
  if (metric == EdgeMetric::median) return quantile(elements, 0.5);
  const double upper = quantile(elements, 0.75);
  return upper - alpha * (upper - quantile(elements, 0.25));
}

std::vector<Parameter> with_edge_parameters(std::vector<Parameter> parameters) {
  parameters.push_back({"metric", 0, 2, 0, "partners have more elements than 0: average, 1: median, 2: Q3"});
  parameters.push_back({"alpha", 0, 300, 0, "of metric 2, in hundredths: so much of Q3 - Q1 less"});
  return parameters;
}

EdgeRule edge_rule(const Setup& setup) {
  return {.metric = static_cast<EdgeMetric>(setup.value("metric")),
          .alpha = static_cast<double>(setup.value("alpha")) / 100};
}

}  // namespace unisono::matching
