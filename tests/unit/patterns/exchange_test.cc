// SPDX-License-Identifier: BSD-3-Clause
// Every exchange, for sizes 1 .. 70 and some large ones: partners agree, and everything arrives.
#include "patterns/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

namespace unisono::patterns {
namespace {

std::vector<int> sizes() {
  std::vector<int> all;
  for (int size = 1; size <= 70; ++size) all.push_back(size);
  all.insert(all.end(), {127, 128, 129, 1000, 1024});
  return all;
}

TEST(Numbers, PowersOfTwo) {
  EXPECT_EQ(floor_power_of_two(1), 1);
  EXPECT_EQ(floor_power_of_two(63), 32);
  EXPECT_EQ(floor_power_of_two(64), 64);
  EXPECT_EQ(ceil_log2(1), 0);
  EXPECT_EQ(ceil_log2(2), 1);
  EXPECT_EQ(ceil_log2(3), 2);
  EXPECT_EQ(ceil_log2(64), 6);
  EXPECT_EQ(ceil_log2(65), 7);
  EXPECT_TRUE(is_power_of_two(1));
  EXPECT_FALSE(is_power_of_two(0));
  EXPECT_FALSE(is_power_of_two(12));
}

TEST(Ring, EveryBlockPassesEveryRank) {
  for (const int size : sizes()) {
    const Ring ring{size};
    for (int rank = 0; rank < size; ++rank) {
      ASSERT_EQ(ring.next(ring.previous(rank)), rank);
      ASSERT_EQ(ring.passed_on(rank, 0), rank);
      std::set<int> seen;
      for (int round = 0; round < size; ++round) {
        seen.insert(ring.passed_on(rank, round));
        // What arrives in a round is what is passed on in the next.
        ASSERT_EQ(ring.passed_on(ring.previous(rank), round), ring.passed_on(rank, round + 1));
      }
      ASSERT_EQ(static_cast<int>(seen.size()), size);
    }
  }
}

TEST(Folding, EveryRankHasOneRoleAndIndicesFollowTheRanks) {
  using Role = Folding::Role;
  for (const int size : sizes()) {
    for (int preferred = -1; preferred < std::min(size, 70); ++preferred) {
      const Folding folding(size, preferred);
      ASSERT_TRUE(is_power_of_two(folding.base()));
      ASSERT_EQ(folding.base() + folding.extras(), size);
      ASSERT_EQ(1 << folding.rounds(), folding.base());
      int roles[3] = {};
      int last_index = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto member = folding.at(rank);
        ++roles[static_cast<int>(member.role)];
        ASSERT_GE(member.index, last_index) << "indices follow the ranks";
        last_index = member.index;
        if (member.role == Role::base) {
          ASSERT_EQ(member.partner, -1);
        } else {
          ASSERT_EQ(folding.at(member.partner).partner, rank);
          ASSERT_EQ(folding.at(member.partner).index, member.index);
          ASSERT_NE(folding.at(member.partner).role, member.role);
          ASSERT_EQ(std::abs(member.partner - rank), 1) << "pairs are neighbours";
        }
        if (member.role != Role::extra) {
          ASSERT_EQ(folding.rank_of(member.index), rank);
        }
      }
      ASSERT_EQ(roles[static_cast<int>(Role::extra)], folding.extras());
      ASSERT_EQ(roles[static_cast<int>(Role::proxy)], folding.extras());
      if (preferred >= 0) {
        ASSERT_NE(folding.at(preferred).role, Role::extra);
      }
    }
  }
}

TEST(RecursiveDoubling, GroupsMeetTheirNeighbours) {
  for (int base = 1; base <= 256; base *= 2) {
    for (int index = 0; index < base; ++index) {
      int first = index;
      int last = index + 1;
      for (int round = 0; round < ceil_log2(base); ++round) {
        const Doubling own = recursive_doubling(index, round);
        const Doubling other = recursive_doubling(own.partner, round);
        ASSERT_EQ(other.partner, index);
        ASSERT_EQ(own.first, first);
        ASSERT_EQ(own.last, last);
        ASSERT_EQ(own.partner_first, other.first);
        ASSERT_EQ(own.partner_last, other.last);
        ASSERT_TRUE(own.partner_first == last || own.partner_last == first);
        first = std::min(first, own.partner_first);
        last = std::max(last, own.partner_last);
      }
      ASSERT_EQ(first, 0);
      ASSERT_EQ(last, base);
    }
  }
}

TEST(Folding, NumbersStandForRunsOfRanks) {
  for (int size = 1; size <= 40; ++size) {
    const Folding folding(size);
    ASSERT_EQ(folding.first_rank(0), 0);
    ASSERT_EQ(folding.first_rank(folding.base()), size);
    for (int rank = 0; rank < size; ++rank) {
      const int index = folding.at(rank).index;
      ASSERT_GE(rank, folding.first_rank(index));
      ASSERT_LT(rank, folding.first_rank(index + 1));
    }
  }
}

TEST(FarthestHalving, EveryoneKeepsItsOwnPart) {
  for (int base = 1; base <= 256; base *= 2) {
    for (int index = 0; index < base; ++index) {
      int first = 0;
      int last = base;
      for (int round = 0; round < ceil_log2(base); ++round) {
        const Halving own = farthest_halving(index, round, base);
        const Halving other = farthest_halving(own.partner, round, base);
        ASSERT_EQ(other.partner, index);
        ASSERT_EQ(own.keep_first, other.give_first);
        ASSERT_EQ(own.keep_last, other.give_last);
        ASSERT_EQ(std::min(own.keep_first, own.give_first), first);
        ASSERT_EQ(std::max(own.keep_last, own.give_last), last);
        first = own.keep_first;
        last = own.keep_last;
      }
      ASSERT_EQ(first, index);
      ASSERT_EQ(last, index + 1);
    }
  }
}

TEST(RecursiveHalving, EveryoneKeepsAnotherPart) {
  for (int base = 1; base <= 256; base *= 2) {
    std::set<int> kept;
    for (int index = 0; index < base; ++index) {
      int first = 0;
      int last = base;
      for (int round = 0; round < ceil_log2(base); ++round) {
        const Halving own = recursive_halving(index, round, base);
        const Halving other = recursive_halving(own.partner, round, base);
        ASSERT_EQ(other.partner, index);
        ASSERT_EQ(own.partner, recursive_doubling(index, round).partner) << "neighbours are joined first";
        ASSERT_EQ(own.keep_first, other.give_first);
        ASSERT_EQ(own.keep_last, other.give_last);
        ASSERT_EQ(own.give_first, other.keep_first);
        ASSERT_EQ(std::min(own.keep_first, own.give_first), first);
        ASSERT_EQ(std::max(own.keep_last, own.give_last), last);
        ASSERT_TRUE(own.keep_last == own.give_first || own.give_last == own.keep_first);
        first = own.keep_first;
        last = own.keep_last;
      }
      ASSERT_EQ(last - first, 1);
      ASSERT_EQ(kept_part(index, base), first);
      ASSERT_EQ(kept_part(first, base), index);
      kept.insert(first);
    }
    ASSERT_EQ(static_cast<int>(kept.size()), base);
  }
}

TEST(Pairwise, EveryoneMeetsEveryoneOnce) {
  for (const int size : sizes()) {
    for (int rank = 0; rank < size; ++rank) {
      std::set<int> sent;
      std::set<int> received;
      for (int round = 1; round < size; ++round) {
        const Pair pair = pairwise(rank, round, size);
        ASSERT_EQ(pairwise(pair.to, round, size).from, rank);
        ASSERT_EQ(at_distance(at_distance(rank, round, size).to, round, size).from, rank);
        if (is_power_of_two(size)) {
          ASSERT_EQ(pair.to, pair.from);
        }
        sent.insert(pair.to);
        received.insert(pair.from);
      }
      ASSERT_EQ(static_cast<int>(sent.size()), size - 1);
      ASSERT_EQ(static_cast<int>(received.size()), size - 1);
      ASSERT_FALSE(sent.contains(rank) || received.contains(rank));
    }
  }
}

TEST(Dissemination, EveryoneHearsOfEveryone) {
  for (const int size : sizes()) {
    if (size > 200) continue;
    std::vector<std::set<int>> heard(size);
    for (int rank = 0; rank < size; ++rank) heard[rank] = {rank};
    for (int round = 0; round < ceil_log2(size); ++round) {
      const auto before = heard;
      for (int rank = 0; rank < size; ++rank) {
        const Pair pair = dissemination(rank, round, size);
        ASSERT_EQ(dissemination(pair.to, round, size).from, rank);
        heard[rank].insert(before[pair.from].begin(), before[pair.from].end());
      }
    }
    for (int rank = 0; rank < size; ++rank) ASSERT_EQ(static_cast<int>(heard[rank].size()), size);
  }
}

TEST(Bruck, BlocksDoubleUntilAllAreThere) {
  for (const int size : sizes()) {
    for (int rank = 0; rank < size; ++rank) {
      int have = 1;
      for (int round = 0; round < ceil_log2(size); ++round) {
        const BruckRound own = bruck(rank, round, size);
        ASSERT_EQ(own.blocks, have);
        ASSERT_LE(own.count, bruck(own.from, round, size).blocks) << "the sender has what it sends";
        ASSERT_EQ(bruck(own.to, round, size).from, rank);
        ASSERT_EQ(own.from, wrap(rank + have, size)) << "what arrives continues the run";
        have += own.count;
      }
      ASSERT_EQ(have, size);
    }
  }
}

TEST(NeighborExchange, PairsOfBlocksGoRound) {
  for (const int size : sizes()) {
    if (size % 2 != 0) continue;
    for (int rank = 0; rank < size; ++rank) {
      std::set<int> have{rank};
      for (int round = 0; round < size / 2; ++round) {
        const NeighborRound own = neighbor_exchange(rank, round, size);
        const NeighborRound other = neighbor_exchange(own.partner, round, size);
        ASSERT_EQ(other.partner, rank);
        ASSERT_EQ(own.partner, round == 0 ? rank ^ 1 : wrap(rank + ((rank + round) % 2 == 0 ? 1 : -1), size))
            << "neighbours take turns";
        ASSERT_EQ(own.sent_first, other.received_first);
        ASSERT_EQ(own.sent_last, other.received_last);
        for (int block = own.sent_first; block < own.sent_last; ++block) ASSERT_TRUE(have.contains(block));
        for (int block = own.received_first; block < own.received_last; ++block) {
          ASSERT_TRUE(have.insert(block).second) << "nothing comes twice";
        }
      }
      ASSERT_EQ(static_cast<int>(have.size()), size);
    }
  }
}

}  // namespace
}  // namespace unisono::patterns
