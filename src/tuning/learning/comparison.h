// SPDX-License-Identifier: BSD-3-Clause
// Is one algorithm faster than another, beyond noise? Both take turns, a batch of calls each. Pure
// arithmetic.
#pragma once

#include <cstdint>
#include <vector>

namespace unisono::tuning {

// Of a batch of the one that is used and a batch of the other one: the mean time of a call, and the least.
struct Round {
  double best_s = 0, best_least_s = 0;
  double other_s = 0, other_least_s = 0;
};

enum class Verdict : std::uint8_t { open, won, lost };  // of the other one

// By the means, round by round: what slows the machine for a while slows both of a round. Where waiting for
// ranks that come late is most of the time and hides what is compared, by the least times; those say little
// where ranks share cores.
Verdict verdict_of(const std::vector<Round>& rounds, bool trusts_least_times);

// Of the other one's mean time to the used one's.
double median_ratio_of(const std::vector<Round>& rounds);
std::vector<double> ratios_of(const std::vector<Round>& rounds);
// How uncertain a ratio of two times is, by those of the rounds in which they were compared.
double uncertainty_of(const std::vector<double>& ratios);
double median_of(const std::vector<Round>& rounds, double Round::*time);

}  // namespace unisono::tuning
