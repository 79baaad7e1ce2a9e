// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/exchange.h"

#include <algorithm>

namespace unisono::patterns {

Folding::Folding(int size, int preferred)
    : base_(floor_power_of_two(size)), extras_(size - base_), preferred_(preferred) {}

Folding::Member Folding::at(int rank) const {
  if (rank >= 2 * extras_) return {Role::base, rank - extras_, -1};
  const int other = rank % 2 == 0 ? rank + 1 : rank - 1;
  return {is_proxy(rank) ? Role::proxy : Role::extra, rank / 2, other};
}

int Folding::rank_of(int index) const {
  if (index >= extras_) return index + extras_;
  return is_proxy(2 * index) ? 2 * index : 2 * index + 1;
}

Doubling recursive_doubling(int index, int round) {
  const int length = 1 << round;
  const int partner = index ^ length;
  const int first = index & ~(length - 1);
  const int partner_first = partner & ~(length - 1);
  return {partner, first, first + length, partner_first, partner_first + length};
}

Halving recursive_halving(int index, int round, int base) {
  int first = 0;
  int length = base;
  for (int earlier = 0; earlier < round; ++earlier) {
    length /= 2;
    if ((index >> earlier) % 2 == 1) first += length;
  }
  length /= 2;
  const bool keeps_lower = (index >> round) % 2 == 0;
  const int keep = keeps_lower ? first : first + length;
  const int give = keeps_lower ? first + length : first;
  return {index ^ (1 << round), keep, keep + length, give, give + length};
}

int kept_part(int index, int base) {
  int part = 0;
  for (int bit = 1; bit < base; bit *= 2) part = 2 * part + ((index & bit) != 0 ? 1 : 0);
  return part;
}

Halving farthest_halving(int index, int round, int base) {
  const int half = base >> (round + 1);
  const int first = index & ~(2 * half - 1);
  const int keep = (index & half) == 0 ? first : first + half;
  const int give = (index & half) == 0 ? first + half : first;
  return {index ^ half, keep, keep + half, give, give + half};
}

Pair pairwise(int rank, int round, int size) {
  if (is_power_of_two(size)) return {rank ^ round, rank ^ round};
  return at_distance(rank, round, size);
}

Pair at_distance(int rank, int distance, int size) {
  return {wrap(rank + distance, size), wrap(rank - distance, size)};
}

Pair dissemination(int rank, int round, int size) {
  return at_distance(rank, 1 << round, size);
}

BruckRound bruck(int rank, int round, int size) {
  const int distance = 1 << round;
  return {wrap(rank - distance, size), wrap(rank + distance, size), distance,
          std::min(distance, size - distance)};
}

NeighborRound neighbor_exchange(int rank, int round, int size) {
  const bool is_even = rank % 2 == 0;
  if (round == 0) {
    const int partner = is_even ? rank + 1 : rank - 1;
    return {partner, rank, rank + 1, partner, partner + 1};
  }
  // The pair of blocks that `whose` gets in a round: on its outer side in odd rounds, further away by one
  // pair every other round.
  const auto pair_of = [size](int whose, int in_round) {
    const int outwards = whose % 2 == 0 ? -1 : 1;
    const int way = (in_round + 1) / 2 * (in_round % 2 == 1 ? outwards : -outwards);
    return in_round == 0 ? whose / 2 : wrap(whose / 2 + way, size / 2);
  };
  const int outer = is_even ? rank - 1 : rank + 1;
  const int inner = is_even ? rank + 1 : rank - 1;
  const int sent = 2 * pair_of(rank, round - 1);
  const int received = 2 * pair_of(rank, round);
  return {wrap(round % 2 == 1 ? outer : inner, size), sent, sent + 2, received, received + 2};
}

}  // namespace unisono::patterns
