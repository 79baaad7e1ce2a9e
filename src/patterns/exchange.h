// SPDX-License-Identifier: BSD-3-Clause
// Who exchanges with whom, round by round: ring, recursive doubling and halving, Bruck, pairwise exchange,
// dissemination. A5, section 3.2.
#pragma once

#include <cstdint>

#include "patterns/numbers.h"

namespace unisono::patterns {

// i modulo size, for i >= -size.
constexpr int wrap(std::int64_t i, int size) {
  return static_cast<int>((i + size) % size);
}

// Every rank sends to the next one, round after round.
struct Ring {
  int size;

  int next(int rank) const { return wrap(rank + 1, size); }
  int previous(int rank) const { return wrap(rank - 1, size); }
  // The block that `rank` passes on in `round` when it starts with block `rank`; the one that arrives is what
  // the previous rank passes on.
  int passed_on(int rank, int round) const { return wrap(rank - round % size, size); }
};

// Any number of ranks folded onto a power of two. The first 2 * extras ranks form neighbouring pairs; one of
// each pair, the extra, hands its part to the other, the proxy, and is idle meanwhile. Proxies and bases are
// numbered 0 .. base-1 in the order of their ranks, so that each stands for a run of consecutive ranks.
class Folding {
 public:
  enum class Role : std::uint8_t { base, proxy, extra };
  struct Member {
    Role role;
    int index;    // among the base; of an extra: its proxy's
    int partner;  // of a proxy its extra, of an extra its proxy; -1 for a base
  };

  // The lower rank of a pair is the proxy, unless `preferred` is the upper one.
  explicit Folding(int size, int preferred = -1);

  int base() const { return base_; }
  int extras() const { return extras_; }
  int rounds() const { return ceil_log2(base_); }  // of an exchange among the base
  Member at(int rank) const;
  int rank_of(int index) const;  // of the base
  // The lowest rank that a number stands for; of base(): the number of ranks. So the numbers [i, j) stand for
  // the ranks [first_rank(i), first_rank(j)).
  int first_rank(int index) const { return index + (index < extras_ ? index : extras_); }

 private:
  bool is_proxy(int rank) const { return rank == preferred_ || (rank % 2 == 0 && rank + 1 != preferred_); }
  int base_;
  int extras_;
  int preferred_;
};

// Recursive doubling: in round r everyone exchanges with the one whose number differs in bit r. Before the
// round, each has what its aligned group of 2^r members brought along.
struct Doubling {
  int partner;      // number among the base
  int first, last;  // own group before the round
  int partner_first, partner_last;
};
Doubling recursive_doubling(int index, int round);

// Recursive halving with the nearest partner first, so that runs of neighbours are joined and operands stay
// in order (Rabenseifner). In round r the partners, which differ in bit r, have the same run of parts; the
// one with bit r = 0 keeps its lower half. After all rounds everyone keeps one part; undone in reversed order
// this is an allgather. Parts: [0, base).
struct Halving {
  int partner;
  int keep_first, keep_last;
  int give_first, give_last;
};
Halving recursive_halving(int index, int round, int base);
// The part that `index` keeps after all rounds; and as well who keeps part `index`.
int kept_part(int index, int base);
// The same with the farthest partner first: everyone ends with the part of its own number.
Halving farthest_halving(int index, int round, int base);

// Whom a rank sends to and receives from in a round; -1: nobody.
struct Pair {
  int to;
  int from;
};
// Pairwise exchange: in round r = 1 .. size-1 everyone sends to one and receives from one other rank (the
// same one if size is a power of two).
Pair pairwise(int rank, int round, int size);
// The same by distance, whatever the size.
Pair at_distance(int rank, int distance, int size);

// Dissemination: in round r a rank tells the one 2^r above it. After ceil_log2(size) rounds everyone has
// heard of everyone.
Pair dissemination(int rank, int round, int size);

// Bruck: in round r a rank receives from 2^r above it and sends to 2^r below it; it has `blocks` blocks
// before the round and gets `count` more.
struct BruckRound {
  int to;
  int from;
  int blocks;
  int count;
};
BruckRound bruck(int rank, int round, int size);

// Neighbour exchange, of an even number of ranks. First two neighbours exchange their own blocks. Then
// everyone exchanges the pair of blocks that it got last, with its neighbour on the other side and on the
// first side in turn. size / 2 rounds.
struct NeighborRound {
  int partner;
  int sent_first, sent_last;  // blocks
  int received_first, received_last;
};
NeighborRound neighbor_exchange(int rank, int round, int size);

}  // namespace unisono::patterns
