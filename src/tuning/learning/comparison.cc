// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace unisono::tuning {
namespace {

// What measuring the same twice gives; a choice is changed for more.
constexpr double least_gain = 0.03;
constexpr double clear_gain = 0.2, hopeless_ratio = 1.25;
// Nothing is more certain than the first; what one round has shown is less so.
constexpr double least_uncertainty = 0.05, uncertainty_of_one_round = 0.25;
constexpr std::size_t few_rounds = 2, enough_rounds = 3, many_rounds = 5, most_rounds = 6;
// Calls take so many times as long as the quickest of them: ranks wait for each other.
constexpr double waiting_ratio = 1.5;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool is_win(double ratio) {
  return ratio < 1 - least_gain;
}

// Is it the waiting, not the algorithm, that makes the times differ?
bool is_waiting(const std::vector<Round>& rounds, const std::vector<double>& ratios) {
  const auto [least, most] = std::ranges::minmax(ratios);
  return *std::ranges::min_element(ratios) < 1 && most > (1 + least_gain) * least &&
         median_of(rounds, &Round::best_s) > waiting_ratio * median_of(rounds, &Round::best_least_s) &&
         median_of(rounds, &Round::other_s) > waiting_ratio * median_of(rounds, &Round::other_least_s);
}

Verdict by_least_times(const std::vector<Round>& rounds) {
  if (rounds.size() < enough_rounds) return Verdict::open;
  const bool is_won = std::ranges::all_of(
      rounds, [](const Round& round) { return is_win(round.other_least_s / round.best_least_s); });
  return is_won ? Verdict::won : Verdict::lost;
}

}  // namespace

Verdict verdict_of(const std::vector<Round>& rounds, bool trusts_least_times) {
  const std::vector<double> ratios = ratios_of(rounds);
  const std::size_t count = ratios.size();
  const auto wins = static_cast<std::size_t>(std::ranges::count_if(ratios, is_win));
  const std::size_t others = count - wins;
  if (count >= few_rounds && std::ranges::all_of(ratios, [](double r) { return r < 1 - clear_gain; }))
    return Verdict::won;
  if (count >= enough_rounds && others == 0) return Verdict::won;
  if (count >= many_rounds && others <= 1) return Verdict::won;
  if (others < 2 && count < most_rounds && ratios.front() < hopeless_ratio) return Verdict::open;
  if (trusts_least_times && is_waiting(rounds, ratios)) return by_least_times(rounds);
  if (count == 1 && trusts_least_times && rounds[0].best_s > waiting_ratio * rounds[0].best_least_s)
    return Verdict::open;
  return Verdict::lost;
}

std::vector<double> ratios_of(const std::vector<Round>& rounds) {
  std::vector<double> ratios;
  for (const Round& round : rounds) ratios.push_back(round.other_s / round.best_s);
  return ratios;
}

double uncertainty_of(const std::vector<double>& ratios) {
  if (ratios.size() < 2) return uncertainty_of_one_round;
  const auto [least, most] = std::ranges::minmax(ratios);
  const double spread = (most - least) / std::max(least, 1e-3);
  return std::max(least_uncertainty, spread / std::sqrt(static_cast<double>(ratios.size())) / 2);
}

double median_of(const std::vector<Round>& rounds, double Round::*time) {
  std::vector<double> times;
  for (const Round& round : rounds) times.push_back(round.*time);
  return median(std::move(times));
}

double median_ratio_of(const std::vector<Round>& rounds) {
  return median(ratios_of(rounds));
}

}  // namespace unisono::tuning
