// SPDX-License-Identifier: BSD-3-Clause
// M8: the messages of one communicator that no receive has asked for. The oldest stand in the short array, as
// receives do (own_posted.h); the others have a node each.
//
// A receive of one shape of wildcards finds its message in the index of that shape: a list for each key, all
// in one table. Messages are put into a shape's index once a receive of that shape has been seen, and not
// before. Who leaves through one index stays, dead, in the others, until somebody passes it there. When the
// dead are more than the living all lists are swept.
#pragma once

#include "matching/open_table.h"
#include "matching/own_nodes.h"
#include "matching/short_array.h"

namespace unisono::matching {

class OwnUnexpected {
 public:
  explicit OwnUnexpected(HashSeed seed) : table_(seed) {}

  void append(std::uint64_t key, Item item) {
    if (++appended_ >= table_.slots()) review();
    if (in_table_ == 0 && !array_.is_full())
      array_.append(key, item);
    else
      append_to_table(key, item);
  }

  // The oldest message that a receive with this key gets; null where there is none. `is_taken`: it leaves.
  Item find(std::uint64_t key, bool is_taken, std::uint64_t* looked_at) {
    if (!array_.is_empty()) {
      const int place = array_.find(key, mask_of(key), looked_at);
      if (place != ShortArray::nowhere) return is_taken ? array_.erase(place) : array_.item(place);
    }
    return in_table_ == 0 ? nullptr : find_in_table(key, is_taken, looked_at);
  }

  // Without this object's own.
  std::size_t bytes() const { return table_.bytes() + nodes_.bytes(); }

 private:
  struct Node {
    std::uint64_t key;
    Item item;
    std::uint64_t sequence;
    std::uint32_t next[shapes];
    union {
      std::uint32_t linked;  // a bit for each index that it is in
      std::uint32_t next_free;
    };
    bool is_waiting = false;
  };
  static_assert(sizeof(Node) == 48);

  void append_to_table(std::uint64_t key, Item item);
  Item find_in_table(std::uint64_t key, bool is_taken, std::uint64_t* looked_at);
  void link(std::uint32_t number, int shape);
  void unlink_first(OpenTable::Slot slot, int shape);
  void begin_index(int shape);
  void one_has_left();
  void sweep();
  void sweep_list(OpenTable::Slot slot);
  void review();

  ShortArray array_;
  OpenTable table_;
  OwnNodes<Node> nodes_;
  std::uint32_t in_table_ = 0;       // messages that wait
  std::uint32_t dead_ = 0;           // those that have left, and are still in some index
  std::uint32_t indexes_ = 0;        // a bit for each shape that has one
  std::uint32_t asked_for_ = 0;      // shapes of receives since the table was empty
  std::uint32_t appended_ = 0;       // since the last review
  std::uint32_t most_in_table_ = 0;  // at one time since then
  std::uint64_t sequence_ = 0;
};

}  // namespace unisono::matching
