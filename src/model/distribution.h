// SPDX-License-Identifier: BSD-3-Clause
// What times of many calls have in common.
#pragma once

#include <cstdint>
#include <vector>

namespace unisono::model {

struct Distribution {
  std::size_t count = 0;
  double mean = 0, deviation = 0;  // the latter of the samples
  double least = 0, most = 0;
  struct Percentile {
    double share = 0;  // of the calls, from 0 to 1, that are at most
    double us = 0;     // this long
  };
  std::vector<Percentile> percentiles;
  struct Window {
    double us = 0;     // so wide
    double from = 0;   // where it holds most
    double share = 0;  // of the calls that lie in it
  };
  std::vector<Window> windows;
  // Without the share of the calls that took longest (table 5.1 of N7 leaves out one in a hundred).
  double trimmed_share = 0, trimmed_mean = 0, trimmed_deviation = 0;
  struct Bin {
    double from = 0, to = 0;
    std::int64_t count = 0;
  };
  std::vector<Bin> histogram;
};

struct DistributionOptions {
  std::vector<double> windows = {4, 20};  // us
  double trimmed_share = 0.01;
  int bins = 40;
};

// Of one time at least. The last bin holds all that lies beyond the 99th percentile.
Distribution distribution_of(std::vector<double> us, const DistributionOptions& options = {});

}  // namespace unisono::model
