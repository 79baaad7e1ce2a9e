// SPDX-License-Identifier: BSD-3-Clause
// Bruck's alltoall for small blocks: few messages, each block travels up to log2(size) times. S1.
#include <bit>

#include "algorithms/building/compose.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;

namespace {

// Each round's blocks are packed and received in areas of their own; larger blocks would need too much of
// that.
constexpr std::int64_t max_block_bytes = 16 << 10;

// Block i is the one that travels i ranks onwards: in round r by 2^r, if i has that bit.
class Bruck {
 public:
  explicit Bruck(const Problem& problem) : size_(problem.size), rank_(problem.rank) {}

  int rounds() const { return patterns::ceil_log2(size_); }
  std::int64_t scratch() const { return 2 * area(rounds()); }

  void exchange(int round, Writer& writer) const {
    const std::int64_t packed = area(rounds()) + area(round);
    for (int i = 1 << round; i < size_; ++i) {
      if ((i >> round) % 2 == 1)
        writer.copy(block(Place::scratch, packed + index(i, round)), place_of(i, round));
    }
    const std::int64_t count = travelling(round);
    writer.send(blocks(Place::scratch, packed, packed + count), wrap(rank_ + (1 << round), size_));
    writer.recv(blocks(Place::scratch, area(round), area(round + 1)), wrap(rank_ - (1 << round), size_));
  }

  void put_in_place(Writer& writer) const {
    for (int i = 0; i < size_; ++i)
      writer.copy(block(Place::output, wrap(rank_ - i, size_)), place_of(i, rounds()));
  }

 private:
  // How many of the blocks below `end` travel in `round`.
  static std::int64_t travelling_below(int end, int round) {
    const int rest = end % (2 << round) - (1 << round);
    return (static_cast<std::int64_t>(end >> (round + 1)) << round) + (rest > 0 ? rest : 0);
  }
  std::int64_t travelling(int round) const { return travelling_below(size_, round); }
  static std::int64_t index(int i, int round) { return travelling_below(i, round); }

  // Where the area begins in which a round's blocks arrive.
  std::int64_t area(int round) const {
    std::int64_t first = 0;
    for (int earlier = 0; earlier < round; ++earlier) first += travelling(earlier);
    return first;
  }

  // Where block i is before `round`: where it arrived last, or in the input.
  Ref place_of(int i, int round) const {
    const unsigned travelled = static_cast<unsigned>(i) & ((1u << round) - 1);
    if (travelled == 0) return block(Place::input, wrap(rank_ + i, size_));
    const int last = std::bit_width(travelled) - 1;
    return block(Place::scratch, area(last) + index(i, last));
  }

  int size_;
  int rank_;
};

Program build(const Problem& problem, const Parameters&) {
  const Bruck bruck(problem);
  Composition composition;
  composition.reserve(bruck.scratch());
  composition.add(
      message_stage({}, bruck.rounds(), [=](int round, Writer& writer) { bruck.exchange(round, writer); }));
  composition.add(local_stage([=](Writer& writer) { bruck.put_in_place(writer); }));
  return composition.take();
}

std::vector<Descriptor> make() {
  return {{.name = "bruck",
           .operation = Operation::alltoall,
           .group = "exchange",
           .sentence = "In round r all blocks that have bit r of their way left travel on together.",
           .source = "S1",
           .legality = {.max_bytes = max_block_bytes},
           .parameters = {},
           .build = build,
           // A leader's blocks are not of one size.
           .is_for_leaders = false}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
