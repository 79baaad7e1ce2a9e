// SPDX-License-Identifier: BSD-3-Clause
#include "model/fnomial.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace unisono::model {

double FNomial::serial_us(int ranks) const {
  return constant_us + latency_us + (ranks - 1) * (receive_us + combine_us);
}

double FNomial::full_us(int ranks, double degree) const {
  return constant_us +
         (latency_us + (degree - 1) * (receive_us + combine_us)) * std::log(ranks) / std::log(degree);
}

double FNomial::reduce_us(int ranks, int degree) const {
  if (ranks == 1) return constant_us;
  int full_phases = 0;
  std::int64_t reached = 1;  // degree to the power of full_phases
  for (; reached * degree <= ranks; reached *= degree) ++full_phases;
  const std::int64_t rest = (ranks + reached - 1) / reached - 1;  // the root's children in the last phase
  const int phases = full_phases + (rest > 0 ? 1 : 0);
  return constant_us + latency_us * phases +
         (receive_us + combine_us) * static_cast<double>((degree - 1) * full_phases + rest);
}

int FNomial::best_degree(int ranks) const {
  int best = 2;
  for (int degree = 3; degree <= ranks; ++degree) {
    if (reduce_us(ranks, degree) < reduce_us(ranks, best)) best = degree;
  }
  return best;
}

double FNomial::best_degree_of_full_trees() const {
  const double wanted = latency_us / (receive_us + combine_us) - 1;
  // f (ln f - 1) grows from -1 at f = 1 on.
  double low = 1, high = 2;
  constexpr double most = 1e9;  // where receiving costs nothing
  while (high < most && high * (std::log(high) - 1) < wanted) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (middle * (std::log(middle) - 1) < wanted ? low : high) = middle;
  }
  return low;
}

// The line through all points that makes the squares of what is left least.
SerialFit fit_serial(std::span<const SerialTime> times) {
  double ranks = 0, us = 0;
  for (const SerialTime& one : times) {
    ranks += one.ranks;
    us += one.us;
  }
  const auto count = static_cast<double>(times.size());
  ranks /= count;
  us /= count;
  double both = 0, squares = 0;
  for (const SerialTime& one : times) {
    both += (one.ranks - ranks) * (one.us - us);
    squares += (one.ranks - ranks) * (one.ranks - ranks);
  }
  SerialFit fit{.slope_us = squares > 0 ? both / squares : 0};
  fit.intercept_us = us + fit.slope_us * (1 - ranks);
  for (const SerialTime& one : times) {
    const double left = std::abs(fit.intercept_us + fit.slope_us * (one.ranks - 1) - one.us);
    fit.largest_error = std::max(fit.largest_error, left / one.us);
  }
  return fit;
}

}  // namespace unisono::model
