// SPDX-License-Identifier: BSD-3-Clause
// M8: the receives of one communicator that wait. The oldest stand in the short array. Once that is full new
// ones go to the table. The array is not filled again until the table is empty. So a hit in the array needs
// no comparison with the table, and nothing moves between them.
//
// In the table each key has a list of its own, in order. A message looks at the keys that can ask for it, one
// for each shape of wildcards that some receive has, and takes the first entry that was posted earliest. The
// numbers of first entries stand beside the keys, so that younger ones are not touched.
#pragma once

#include <vector>

#include "matching/open_table.h"
#include "matching/own_nodes.h"
#include "matching/short_array.h"

namespace unisono::matching {

class OwnPosted {
 public:
  OwnPosted(HashSeed seed, std::uint32_t first_sequence) : table_(seed), sequence_(first_sequence) {}

  void append(std::uint64_t key, Item item) {
    if (++appended_ >= table_.slots()) review();
    if (in_table_ == 0 && !array_.is_full())
      array_.append(key, item);
    else
      append_to_table(key, item);
  }

  // The receive that was posted first among those that fit; it leaves. Null where there is none.
  Item take(std::uint64_t key, std::uint64_t* looked_at) {
    if (!array_.is_empty()) {
      const int place = array_.find(key, ~0ULL, looked_at);
      if (place != ShortArray::nowhere) return array_.erase(place);
    }
    return in_table_ == 0 ? nullptr : take_from_table(key, looked_at);
  }

  bool cancel(std::uint64_t key, Item item);

  // Without this object's own.
  std::size_t bytes() const { return table_.bytes() + nodes_.bytes(); }

 private:
  // Of a list's first entry the number stands beside the key: `sequence_or_last` is the list's last node
  // there. Of others it is the number.
  struct Node {
    Item item;
    union {
      std::uint32_t next;
      std::uint32_t next_free;
    };
    std::uint32_t sequence_or_last;
  };
  static_assert(sizeof(Node) == 16);
  struct Waiting {
    std::uint32_t sequence;
    std::uint64_t key;
    Item item;
  };

  void append_to_table(std::uint64_t key, Item item);
  Item take_from_table(std::uint64_t key, std::uint64_t* looked_at);
  Item take_first(OpenTable::Slot slot);
  std::vector<Waiting> all_in_order();
  void review();
  void build_anew();

  ShortArray array_;
  OpenTable table_;
  OwnNodes<Node> nodes_;
  std::uint32_t in_table_ = 0;           // entries
  std::uint32_t of_shape_[shapes] = {};  // those of each shape
  std::uint32_t sequence_;               // the next one's number
  std::uint32_t appended_ = 0;           // since the last review
  std::uint32_t most_in_table_ = 0;      // at one time since then
};

}  // namespace unisono::matching
