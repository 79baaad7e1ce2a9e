// SPDX-License-Identifier: BSD-3-Clause
// The literature's closed forms of collectives (A7), on one level. Runs in virtual time must agree with them;
// Unisono itself asks the runs. Every message model comes down to two numbers of a message of m bytes. W(m)
// is how long a single one takes, and I(m) is how soon the next may follow:
//     Hockney              W = I = alpha + beta m                                figure 4.1
//     LogP, LogGP          W = o + (m - 1) G + L + o, I = max(o, g) + (m - 1) G  figures 4.2, 4.3
//     parameterized LogP   W = L + g(m), I = g(m)                                figure 4.4
// A message in k segments of m bytes is sent as k messages.
#pragma once

#include <cstdint>

#include "model/machine.h"

namespace unisono::model {

class ClosedForms {
 public:
  ClosedForms(const Link& link, MessageModel model, int ranks) : link_(link), model_(model), ranks_(ranks) {}

  double whole_us(std::int64_t bytes) const;     // W
  double interval_us(std::int64_t bytes) const;  // I
  // The same where a rank passes on what it gets: its core may be what takes longest.
  double passing_us(std::int64_t bytes) const;

  // --- Broadcast of `segments` times `bytes` ---
  // (p - 1) k messages leave the root; equations 2.2 and 2.4 where k = 1 and W = I.
  double flat_bcast_us(std::int64_t bytes, int segments) const;
  // (p - 1) W + (k - 1) I.
  double chain_bcast_us(std::int64_t bytes, int segments) const;
  // T(n) = max(W + T(n - h), I + T(h)), h the largest power of two below n; log2(p) W where p is a power of
  // two (equations 2.1 and 2.3).
  double binomial_bcast_us(std::int64_t bytes) const;
  // T(n) = max(W + T(right), I + W + T(left)); further segments follow every 2 I.
  double binary_bcast_us(std::int64_t bytes, int segments) const;
  // Of `bytes` in all: the scatter along a binomial tree, sum of W(bytes / 2^i), then an allgather of the
  // parts. Ranks do not go through the two in step, so this is near, not equal. A power of two ranks.
  double scatter_ring_allgather_us(std::int64_t bytes) const;
  double scatter_doubling_allgather_us(std::int64_t bytes) const;

  // --- Others; `bytes` of a block, or of the vector ---
  double ring_allgather_us(std::int64_t bytes) const;      // (p - 1) W
  double doubling_allgather_us(std::int64_t bytes) const;  // sum of W(2^i bytes); a power of two ranks
  double pairwise_alltoall_us(std::int64_t bytes) const;   // (p - 1) max(W, I), a round at a time
  // log2(p) (W + c), c what joining two vectors takes; a power of two ranks.
  double doubling_allreduce_us(std::int64_t bytes, double combine_us) const;
  // 2 (p - 1) W + (p - 1) c of parts of bytes / p.
  double ring_allreduce_us(std::int64_t bytes, double combine_part_us) const;

 private:
  double binomial_of(int ranks, double whole, double interval) const;
  double binary_of(int ranks, double whole, double interval) const;
  double scatter_us(std::int64_t bytes) const;

  const Link& link_;
  MessageModel model_;
  int ranks_;
};

}  // namespace unisono::model
