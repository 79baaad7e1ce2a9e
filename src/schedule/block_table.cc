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
    case Kept::in_either:
      return bytes <= std::max(limits.bundle_up_to, limits.share_up_to);
  }
  return false;
}

// Slots, and their lanes, are cut at cache lines.
BlockLimits limited(BlockLimits limits, std::int64_t buffers, std::int64_t bundled, std::int64_t own) {
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
  std::int64_t buffers = 1;
  for (const CompiledStage& stage : compiled.stages) {
    if (stage.channel >= 0) buffers = stage.shape.buffers;
  }
  return limited(compiled.blocks->limits, buffers, bundled, own);
}

BlockLimits limits_within(const BlockTable& table, const std::vector<Stage>& stages, std::int64_t bundled,
                          std::int64_t own) {
  std::int64_t buffers = 1;
  for (const Stage& stage : stages) {
    if (stage.shared != SharedMode::none) buffers = stage.buffers;
  }
  return limited(table.limits, buffers, bundled, own);
}

std::int64_t find_starts(const BlockTable& table, const BlockLimits& limits, const std::int64_t* told,
                         std::int64_t element_bytes, std::vector<std::int64_t>* starts) {
  starts->clear();
  starts->reserve(table.blocks.size() + 1);
  std::int64_t next = 0, longest = 0;
  starts->push_back(next);
  for (const NumberedBlock& block : table.blocks) {
    const std::int64_t length = told[block.told];
    longest = std::max(longest, length);
    if (is_kept(block.kept, length * element_bytes, limits)) next += length;
    starts->push_back(next);
  }
  return longest;
}

}  // namespace unisono::schedule
