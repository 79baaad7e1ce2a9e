// SPDX-License-Identifier: BSD-3-Clause
// What the block numbers of a program for neighbours stand for. Each rank knows the lengths of the blocks
// that it sends and gets; the ranks of a node tell each other of those before a call. From what they told
// follow the lengths of all blocks that the program names, on every rank alike.
//
// How a block travels goes by its own length, which both ends of its edge know: no rank has to agree on
// anything. So one block may have several numbers, one for each way, and all but one of them are empty in a
// call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "schedule/program.h"
#include "schedule/ranges.h"

namespace unisono::schedule {

// For which lengths a number stands for its block; for others it is empty.
enum class Kept : std::uint8_t {
  always,
  in_bundle,      // up to `bundle_up_to`
  beyond_bundle,  // longer than that
  in_node,        // up to `share_up_to`
  beyond_node,    // longer than that
  in_either,      // up to the larger one of both
  // Whoever passes a block on without knowing its length deals in a cell, as long as the longest block that
  // goes into a bundle.
  cell,
  behind_block,  // what is left of a cell behind its block, or all of it
};

struct NumberedBlock {
  std::int32_t told = 0;  // which one of the numbers that ranks have told is its length
  Kept kept = Kept::always;
  // Which block of the rank's input, or output, it is; -1: none of them.
  std::int32_t index = -1;
  bool is_output = false;
  std::uint8_t piece = 0;  // which one of its block's pieces it is; blocks that are not cut have one
  bool operator==(const NumberedBlock&) const = default;
};

// Bytes. A longer block goes by itself.
struct BlockLimits {
  std::int64_t bundle_up_to = -1;  // between nodes
  std::int64_t share_up_to = -1;   // inside the node
  // Blocks that are longer than both are cut into as many near-equal pieces of at most so many bytes as they
  // take, or into `most_pieces` longer ones.
  std::int64_t piece = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_pieces = 1;

  bool is_short(std::int64_t bytes) const { return bytes <= std::min(bundle_up_to, share_up_to); }
  // Of a block of this length.
  std::int64_t pieces_of(std::int64_t bytes) const {
    return std::clamp<std::int64_t>(piece <= 0 ? most_pieces : (bytes - 1) / piece + 1, 1, most_pieces);
  }
  bool operator==(const BlockLimits&) const = default;
};

struct BlockTable {
  std::vector<NumberedBlock> blocks;  // by number
  // Each rank of the node tells so many numbers, the lengths of what it sends (the first `outs` ones) and of
  // what it gets. Where all blocks of a direction are equally long there is one number for them.
  std::int32_t told_by_rank = 0;
  std::int32_t outs = 0;
  bool has_equal_outs = true, has_equal_ins = true;
  BlockLimits limits;  // as the algorithm's parameters say
  // The numbers of the blocks in each local rank's slot.
  struct Run {
    std::int64_t first = 0, last = 0;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> slots;

  bool operator==(const BlockTable&) const = default;

  std::int32_t told_out(int local_rank, int index) const {
    return local_rank * told_by_rank + (has_equal_outs ? 0 : index);
  }
  std::int32_t told_in(int local_rank, int index) const {
    return local_rank * told_by_rank + outs + (has_equal_ins ? 0 : index);
  }
};

std::size_t size_bytes(const BlockTable& table);

// The longest blocks for which a node's slots have room, bytes, if a slot takes a rank's whole area. Half of
// it is for what comes from other nodes, where anything does.
struct SlotRoom {
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  std::int64_t bundled = no_limit, own = no_limit;
};
SlotRoom slot_room(const patterns::Neighborhood& neighborhood, const patterns::Layout& layout, int node,
                   bool has_one_block, std::int64_t area_bytes);

// The limits that the algorithm's parameters ask for, as far as slots have room: `bundled` and `own` bytes a
// block, if one slot took a rank's whole area.
class Compiled;
BlockLimits limits_within(const Compiled& compiled, std::int64_t bundled, std::int64_t own);
BlockLimits limits_within(const BlockTable& table, const std::vector<Stage>& stages, std::int64_t bundled,
                          std::int64_t own);

// Where the piece of its block begins that a number stands for, whichever way blocks of this length go.
std::int64_t first_in_block(const NumberedBlock& number, const BlockLimits& limits, std::int64_t length,
                            std::int64_t element_bytes);
// What a number stands for in a block of so many elements.
ElementRange range_in_block(const NumberedBlock& number, const BlockLimits& limits, std::int64_t length,
                            std::int64_t element_bytes);

// Where each block begins, in the order of the numbers (one more entry at the end), of `told` numbers of
// elements of `element_bytes`.
struct Longest {
  std::int64_t block = 0,
               piece = 0;  // elements, of all that the node's ranks have told: the same on all of them
};
Longest find_starts(const BlockTable& table, const BlockLimits& limits, std::span<const std::int64_t> told,
                    std::int64_t element_bytes, std::vector<std::int64_t>* starts);

}  // namespace unisono::schedule
