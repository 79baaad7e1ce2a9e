// SPDX-License-Identifier: BSD-3-Clause
// N6: the closed forms of a reduction along an f-nomial tree, by the work of its root.
#pragma once

#include <span>

namespace unisono::model {

struct FNomial {
  double constant_us = 0;  // C: once
  double latency_us = 0;   // L: of each phase
  double receive_us = 0;   // r: of each child
  double combine_us = 0;   // c: of each child

  double serial_us(int ranks) const;  // C + L + (P - 1) (r + c)
  // Section 4.2.1: C + (L + (f - 1) (r + c)) log_f P, as if the tree were full.
  double full_us(int ranks, double degree) const;
  // Section 4.2.3: also where P is no power of f.
  double reduce_us(int ranks, int degree) const;
  int best_degree(int ranks) const;  // of the above, by trying all
  // The degree that is best for full trees, from 1 on: f (ln f - 1) = L / (r + c) - 1.
  double best_degree_of_full_trees() const;
};

// Section 4.1: r + c is the slope of serial reductions over the number of ranks, C + L what is left at one
// rank. A straight line tells no more: `latency_us` tells the two apart, and so does a call without work, of
// slope r. Of two numbers of ranks at least.
struct SerialTime {
  int ranks = 0;
  double us = 0;
};
struct SerialFit {
  double slope_us = 0;       // r + c
  double intercept_us = 0;   // C + L
  double largest_error = 0;  // of all times, as a share
};
SerialFit fit_serial(std::span<const SerialTime> times);

}  // namespace unisono::model
