// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/block_table.h"

#include <algorithm>

#include "schedule/compiled.h"

namespace unisono::schedule {
namespace {

bool is_kept(Kept kept, std::int64_t bytes, const BlockLimits& limits) {
  switch (kept) {
    case Kept::always:
      return true;
    case Kept::in_bundle:
      return bytes <= limits.bundle_up_to;
    case Kept::beyond_bundle:
      return bytes > limits.bundle_up_to;
    case Kept::in_node:
      return bytes <= limits.share_up_to;
    case Kept::beyond_node:
      return bytes > limits.share_up_to;
    case Kept::cell:
    case Kept::behind_block:
      return true;
    case Kept::in_either:
      return bytes <= std::max(limits.bundle_up_to, limits.share_up_to);
  }
  return false;
}

// Slots, and their lanes, are cut at cache lines. Without slots (0 buffers) there is always room.
BlockLimits limited(BlockLimits limits, std::int64_t buffers, std::int64_t bundled, std::int64_t own) {
  if (buffers == 0) return limits;
  const auto of_slot = [=](std::int64_t bytes) {
    constexpr std::int64_t two_lines_bytes = 128;
    return std::max<std::int64_t>(0, bytes / buffers - two_lines_bytes);
  };
  limits.share_up_to = std::min(limits.share_up_to, of_slot(own));
  limits.bundle_up_to = std::min({limits.bundle_up_to, of_slot(bundled), of_slot(own)});
  return limits;
}

}  // namespace

std::size_t size_bytes(const BlockTable& table) {
  return sizeof table + table.blocks.capacity() * sizeof table.blocks[0] +
         table.slots.capacity() * sizeof table.slots[0];
}

SlotRoom slot_room(const patterns::Neighborhood& neighborhood, const patterns::Layout& layout, int node,
                   bool has_one_block, std::int64_t area_bytes) {
  const patterns::NodeBundles bundles = node_bundles(neighborhood, layout, node, has_one_block);
  std::int64_t most_own = 1, most_bundled = 0;
  for (const int rank : layout.ranks_of[static_cast<std::size_t>(node)]) {
    if (!has_one_block) most_own = std::max(most_own, std::ssize(neighborhood.of(rank).out));
    std::int64_t bundled = 0;
    for (const patterns::Bundle& bundle : bundles.received) {
      if (bundle.receiver == rank) bundled += std::ssize(bundle.blocks);
    }
    most_bundled = std::max(most_bundled, bundled);
  }
  const std::int64_t for_bundles = most_bundled == 0 ? 0 : area_bytes / 2;
  return {most_bundled == 0 ? SlotRoom::no_limit : for_bundles / most_bundled,
          (area_bytes - for_bundles) / most_own};
}

BlockLimits limits_within(const Compiled& compiled, std::int64_t bundled, std::int64_t own) {
  std::int64_t buffers = 0;
  for (const CompiledStage& stage : compiled.stages) {
    if (stage.channel >= 0) buffers = stage.shape.buffers;
  }
  return limited(compiled.blocks->limits, buffers, bundled, own);
}

BlockLimits limits_within(const BlockTable& table, const std::vector<Stage>& stages, std::int64_t bundled,
                          std::int64_t own) {
  std::int64_t buffers = 0;
  for (const Stage& stage : stages) {
    if (stage.shared != SharedMode::none) buffers = stage.buffers;
  }
  return limited(table.limits, buffers, bundled, own);
}

namespace {

// Into how many pieces the block is cut that a number is of.
std::int64_t pieces_of(const NumberedBlock& number, const BlockLimits& limits, std::int64_t bytes) {
  const bool is_cut = number.kept == Kept::beyond_bundle || number.kept == Kept::beyond_node;
  return is_cut ? limits.pieces_of(bytes) : 1;
}

}  // namespace

std::int64_t first_in_block(const NumberedBlock& number, const BlockLimits& limits, std::int64_t length,
                            std::int64_t element_bytes) {
  return scaled(number.piece, pieces_of(number, limits, length * element_bytes), length);
}

ElementRange range_in_block(const NumberedBlock& number, const BlockLimits& limits, std::int64_t length,
                            std::int64_t element_bytes) {
  const std::int64_t bytes = length * element_bytes;
  const std::int64_t cell =
      std::max<std::int64_t>(0, limits.bundle_up_to) / std::max<std::int64_t>(1, element_bytes);
  if (number.kept == Kept::cell) return {0, cell};
  if (number.kept == Kept::behind_block) return {0, cell - (length <= cell ? length : 0)};
  const std::int64_t pieces = pieces_of(number, limits, bytes);
  if (!is_kept(number.kept, bytes, limits) || number.piece >= pieces) return {};
  return cut({0, length}, number.piece, number.piece + 1, pieces);
}

Longest find_starts(const BlockTable& table, const BlockLimits& limits, std::span<const std::int64_t> told,
                    std::int64_t element_bytes, std::vector<std::int64_t>* starts) {
  Longest longest;
  for (const std::int64_t length : told) {
    const std::int64_t pieces = limits.pieces_of(length * element_bytes);
    longest.block = std::max(longest.block, length);
    longest.piece =
        std::max(longest.piece, limits.is_short(length * element_bytes) ? length : (length - 1) / pieces + 1);
  }
  starts->clear();
  starts->reserve(table.blocks.size() + 1);
  std::int64_t next = 0;
  starts->push_back(next);
  for (const NumberedBlock& block : table.blocks) {
    next += range_in_block(block, limits, told[static_cast<std::size_t>(block.told)], element_bytes).length();
    starts->push_back(next);
  }
  return longest;
}

}  // namespace unisono::schedule
