// SPDX-License-Identifier: BSD-3-Clause
#include "matching/clustering.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace unisono::matching {
namespace {

std::uint32_t nearest(const std::vector<double>& centers, double number) {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < centers.size(); ++i)
    if (std::abs(centers[i] - number) < std::abs(centers[best] - number)) best = i;
  return best;
}

double square(double number) {
  return number * number;
}

// The source does not say where k-means begins: here as k-means++ does, with a fixed seed. The next center is
// one of the numbers, the likelier the farther it is from all centers (its distance squared).
std::vector<double> first_centers(const std::vector<double>& elements, int k) {
  std::mt19937_64 random(1);
  const auto share = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<double> centers = {
      elements[static_cast<std::size_t>(share() * static_cast<double>(elements.size()))]};
  std::vector<double> distances(elements.size());
  while (static_cast<int>(centers.size()) < k) {
    std::ranges::transform(elements, distances.begin(),
                           [&](double number) { return square(number - centers[nearest(centers, number)]); });
    const double all = std::accumulate(distances.begin(), distances.end(), 0.0);
    if (all == 0) break;  // each number is a center
    double left = share() * all;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (distances[i] == 0) continue;
      chosen = i;
      if ((left -= distances[i]) < 0) break;
    }
    centers.push_back(elements[chosen]);
  }
  return centers;
}

}  // namespace

// Nor does it say where k-means ends: here where no number goes to another cluster any more (Lloyd).
Clusters k_means(const std::vector<double>& elements, int k) {
  std::vector<double> centers = first_centers(elements, k);
  Clusters clusters{.of_source = std::vector<std::uint32_t>(elements.size()),
                    .count = static_cast<std::uint32_t>(centers.size())};
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::vector<double> sums(centers.size()), counts(centers.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::uint32_t cluster = nearest(centers, elements[i]);
      has_changed |= cluster != clusters.of_source[i];
      clusters.of_source[i] = cluster;
      sums[cluster] += elements[i];
      counts[cluster] += 1;
    }
    for (std::size_t i = 0; i < centers.size(); ++i)
      if (counts[i] != 0) centers[i] = sums[i] / counts[i];
  }
  return clusters;
}

// The text says that no cluster's total passes average + SD. The algorithm adds first and compares then, so
// that a total may pass by its last source: this follows the algorithm. It does not say in which order it
// sorts: ascending, so that each cluster has the most sources, as the text wants. Sources without elements
// then share the first cluster. SD is that of the population.
Clusters clusters_by_heuristic(const std::vector<double>& elements) {
  const auto count = static_cast<double>(elements.size());
  const double average = std::accumulate(elements.begin(), elements.end(), 0.0) / count;
  double variance = 0;
  for (const double number : elements) variance += square(number - average) / count;
  const double most = average + std::sqrt(variance);

  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::size_t source) { return elements[source]; });
  Clusters clusters{.of_source = std::vector<std::uint32_t>(elements.size()), .count = 0};
  double total = 0;
  std::uint32_t cluster = 0;
  for (const std::size_t source : order) {
    clusters.of_source[source] = cluster;
    clusters.count = cluster + 1;
    total += elements[source];
    if (total > most) {
      ++cluster;
      total = 0;
    }
  }
  return clusters;
}

}  // namespace unisono::matching
