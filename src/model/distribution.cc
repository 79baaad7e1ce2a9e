// SPDX-License-Identifier: BSD-3-Clause
#include "model/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

namespace unisono::model {
namespace {

std::pair<double, double> mean_and_deviation(std::span<const double> us) {
  double sum = 0, squares = 0;
  for (const double one : us) sum += one;
  const auto count = static_cast<double>(us.size());
  const bool is_one = std::ranges::adjacent_find(us, std::not_equal_to<>()) == us.end();
  const double mean = is_one ? us.front() : sum / count;
  for (const double one : us) squares += (one - mean) * (one - mean);
  return {mean, us.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

// Between the two nearest ranks.
double percentile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Distribution::Window window_of(std::span<const double> sorted, double wide) {
  Distribution::Window best{.us = wide};
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; first < sorted.size(); ++first) {
    while (last < sorted.size() && sorted[last] <= sorted[first] + wide) ++last;
    if (last - first <= most) continue;
    most = last - first;
    best.from = sorted[first];
  }
  best.share = static_cast<double>(most) / static_cast<double>(sorted.size());
  return best;
}

std::vector<Distribution::Bin> histogram_of(std::span<const double> sorted, int bins) {
  constexpr double shown = 0.99;
  const double low = sorted.front(), high = percentile(sorted, shown);
  if (high <= low || bins < 2) return {{low, sorted.back(), static_cast<std::int64_t>(sorted.size())}};
  std::vector<Distribution::Bin> all(static_cast<std::size_t>(bins));
  const double width = (high - low) / (bins - 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].from = low + width * static_cast<double>(i);
    all[i].to = i + 1 < all.size() ? all[i].from + width : std::max(sorted.back(), all[i].from);
  }
  for (const double one : sorted) {
    const auto place = static_cast<std::size_t>((one - low) / width);
    ++all[std::min(place, all.size() - 1)].count;
  }
  return all;
}

// Calls without noise take the same time, but for the rounding of times that grow from call to call.
void take_out_rounding(std::vector<double>* sorted) {
  constexpr double rounding = 1e-9;  // of a time
  if (sorted->back() - sorted->front() > rounding * sorted->back()) return;
  std::ranges::fill(*sorted, (*sorted)[sorted->size() / 2]);
}

}  // namespace

Distribution distribution_of(std::vector<double> us, const DistributionOptions& options) {
  std::ranges::sort(us);
  take_out_rounding(&us);
  Distribution found{.count = us.size(), .least = us.front(), .most = us.back()};
  std::tie(found.mean, found.deviation) = mean_and_deviation(us);
  for (const double share : {0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999})
    found.percentiles.push_back({share, percentile(us, share)});
  for (const double wide : options.windows) found.windows.push_back(window_of(us, wide));
  const auto left_out =
      static_cast<std::size_t>(std::lround(options.trimmed_share * static_cast<double>(us.size())));
  const std::size_t kept = std::max<std::size_t>(1, us.size() - std::min(us.size(), left_out));
  found.trimmed_share = options.trimmed_share;
  std::tie(found.trimmed_mean, found.trimmed_deviation) = mean_and_deviation({us.data(), kept});
  found.histogram = histogram_of(us, options.bins);
  return found;
}

}  // namespace unisono::model
