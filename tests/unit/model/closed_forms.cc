// SPDX-License-Identifier: BSD-3-Clause
#include "closed_forms.h"

#include <algorithm>
#include <cmath>

namespace unisono::model {

double ClosedForms::whole_us(std::int64_t bytes) const {
  return link_.message(model_, bytes).whole_us();
}

double ClosedForms::interval_us(std::int64_t bytes) const {
  const MessageCost cost = link_.message(model_, bytes);
  return std::max(cost.occupancy_us, cost.send_us);
}

double ClosedForms::passing_us(std::int64_t bytes) const {
  const MessageCost cost = link_.message(model_, bytes);
  return std::max(cost.occupancy_us, cost.send_us + cost.receive_us);
}

double ClosedForms::flat_bcast_us(std::int64_t bytes, int segments) const {
  const int messages = (ranks_ - 1) * segments;
  return messages == 0 ? 0 : (messages - 1) * interval_us(bytes) + whole_us(bytes);
}

double ClosedForms::chain_bcast_us(std::int64_t bytes, int segments) const {
  if (ranks_ == 1) return 0;
  const double interval = ranks_ > 2 ? passing_us(bytes) : interval_us(bytes);
  return (ranks_ - 1) * whole_us(bytes) + (segments - 1) * interval;
}

double ClosedForms::binomial_of(int ranks, double whole, double interval) const {
  if (ranks == 1) return 0;
  int half = 1;
  while (2 * half < ranks) half *= 2;
  const double theirs = whole + binomial_of(ranks - half, whole, interval);
  return half == 1 ? theirs : std::max(theirs, interval + binomial_of(half, whole, interval));
}

double ClosedForms::binomial_bcast_us(std::int64_t bytes) const {
  return binomial_of(ranks_, whole_us(bytes), interval_us(bytes));
}

double ClosedForms::binary_of(int ranks, double whole, double interval) const {
  if (ranks == 1) return 0;
  const int left = ranks / 2, right = ranks - 1 - left;
  if (right == 0) return whole + binary_of(left, whole, interval);
  return std::max(whole + binary_of(right, whole, interval),
                  interval + whole + binary_of(left, whole, interval));
}

double ClosedForms::binary_bcast_us(std::int64_t bytes, int segments) const {
  const double interval = interval_us(bytes);
  const int children = std::min(2, ranks_ - 1);
  return binary_of(ranks_, whole_us(bytes), interval) + (segments - 1) * children * interval;
}

double ClosedForms::scatter_us(std::int64_t bytes) const {
  double us = 0;
  for (int parts = 2; parts <= ranks_; parts *= 2) us += whole_us(bytes / parts);
  return us;
}

double ClosedForms::scatter_ring_allgather_us(std::int64_t bytes) const {
  return scatter_us(bytes) + ring_allgather_us(bytes / ranks_);
}

double ClosedForms::scatter_doubling_allgather_us(std::int64_t bytes) const {
  return scatter_us(bytes) + doubling_allgather_us(bytes / ranks_);
}

double ClosedForms::ring_allgather_us(std::int64_t bytes) const {
  return (ranks_ - 1) * std::max(whole_us(bytes), interval_us(bytes));
}

double ClosedForms::doubling_allgather_us(std::int64_t bytes) const {
  double us = 0;
  for (std::int64_t blocks = 1; blocks < ranks_; blocks *= 2) us += whole_us(blocks * bytes);
  return us;
}

double ClosedForms::pairwise_alltoall_us(std::int64_t bytes) const {
  return (ranks_ - 1) * std::max(whole_us(bytes), interval_us(bytes));
}

double ClosedForms::doubling_allreduce_us(std::int64_t bytes, double combine_us) const {
  double us = 0;
  for (int distance = 1; distance < ranks_; distance *= 2) us += whole_us(bytes) + combine_us;
  return us;
}

double ClosedForms::ring_allreduce_us(std::int64_t bytes, double combine_part_us) const {
  return (ranks_ - 1) * (2 * whole_us(bytes / ranks_) + combine_part_us);
}

}  // namespace unisono::model
