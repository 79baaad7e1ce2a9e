// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/order.h"

#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::Folding;
using schedule::Ref;
using schedule::Writer;

namespace {

class OrderedJoin {
 public:
  OrderedJoin(Writer& writer, int ranks, const std::function<Ref(int)>& operand_of,
              const std::function<Ref(int)>& temporary)
      : writer_(writer), folding_(ranks), operand_of_(operand_of), temporary_(temporary) {}

  void write(const Ref& result) const {
    const int base = folding_.base();
    // Of two members or more; a join of one pair alone is two ranks, which fold onto themselves.
    const Ref left = joined(0, base / 2, 0);
    const Ref right = joined(base / 2, base, 1);
    writer_.reduce(result, left, right);
  }

 private:
  // Where the members [first, last) are joined; temporaries below `free` are in use.
  Ref joined(int first, int last, int free) const {
    if (last - first > 1) {
      const int middle = first + (last - first) / 2;
      const Ref left = joined(first, middle, free);
      const Ref right = joined(middle, last, free + 1);
      writer_.reduce(temporary_(free), left, right);
      return temporary_(free);
    }
    const int rank = folding_.first_rank(first);
    if (folding_.first_rank(last) == rank + 1) return operand_of_(rank);
    writer_.reduce(temporary_(free), operand_of_(rank), operand_of_(rank + 1));
    return temporary_(free);
  }

  Writer& writer_;
  Folding folding_;
  const std::function<Ref(int)>& operand_of_;
  const std::function<Ref(int)>& temporary_;
};

}  // namespace

// The last member is never a pair, so that the right-hand way down needs none for itself.
int temporaries_of_order(int ranks) {
  return Folding(ranks).rounds();
}

void join_in_order(Writer& writer, int ranks, const Ref& result,
                   const std::function<Ref(int rank)>& operand_of,
                   const std::function<Ref(int index)>& temporary) {
  OrderedJoin(writer, ranks, operand_of, temporary).write(result);
}

}  // namespace unisono::algorithms
