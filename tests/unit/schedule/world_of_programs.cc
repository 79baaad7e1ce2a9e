// SPDX-License-Identifier: BSD-3-Clause
#include "world_of_programs.h"

#include <unistd.h>

#include <algorithm>

#include "proof/check_load.h"

namespace unisono::schedule {

namespace {

// Where each numbered block begins among all, and where the rank's own ones lie, one behind the other.
// Limits are those for which all nodes have room.
Longest find_blocks_of_neighbors(const Call& call, const Ranks& ranks, const Compiled& compiled, int rank,
                                 BlockLimits* of_all, std::vector<std::int64_t>* starts,
                                 std::vector<std::int64_t>* places) {
  const BlockTable& table = *compiled.blocks;
  BlockLimits& limits = *of_all;
  limits = table.limits;
  for (int node = 0; node < compiled.problem.layout->nodes(); ++node) {
    const SlotRoom room =
        slot_room(*call.graph->known_on(node), *compiled.problem.layout, node,
                  !sends_neighbor_blocks(call.operation), static_cast<std::int64_t>(ranks.area_bytes));
    const BlockLimits of_node = limits_within(compiled, room.bundled, room.own);
    limits.bundle_up_to = std::min(limits.bundle_up_to, of_node.bundle_up_to);
    limits.share_up_to = std::min(limits.share_up_to, of_node.share_up_to);
  }
  const auto told = call.graph->told(table, rank, call.elements, call.pattern);
  const Longest longest = find_starts(table, limits, told, sizeof(std::int64_t), starts);
  for (const NumberedBlock& block : table.blocks) {
    std::int64_t place = 0;
    const auto length = [&](int i) {
      return block.is_output ? call.graph->received(rank, i, call.elements, call.pattern)
                             : call.graph->sent(rank, i, call.elements, call.pattern);
    };
    for (int i = 0; i < block.index; ++i) place += length(i);
    if (block.index >= 0)
      place += range_in_block(block, limits, length(block.index), sizeof(std::int64_t)).first;
    places->push_back(place);
  }
  return longest;
}

}  // namespace

void run_calls(const Ranks& ranks, const std::vector<Call>& calls) {
  const bool has_slices = ranks.layout.size() != 0;
  const auto layout = std::make_shared<const patterns::Layout>(
      has_slices ? ranks.layout : patterns::Layout::one_node(ranks.size));
  std::unique_ptr<Nodes> nodes;
  if (has_slices) nodes = std::make_unique<Nodes>(*layout, ranks.area_bytes, ranks.policy);
  fake_host::FakeWorld world(ranks.size, ranks.host);
  world.run([&](fake_host::FakeHost& host, int rank) {
    std::vector<int> process_ids(layout->local_size(rank), getpid());
    constexpr int nobody = 1 << 30;  // no process has this id: reading out of it fails
    std::fill_n(process_ids.begin(), std::min(ranks.refused, process_ids.size()), nobody);
    const std::unique_ptr<shm::Slice> slice = nodes ? nodes->slice(host, rank, process_ids) : nullptr;
    std::vector<int> ranks_in_comm;
    host.translate_ranks(host.world(), host.world(), &ranks_in_comm);
    const shm::WaitConfig wait{.policy = ranks.policy};
    const Ground ground{.host = &host,
                        .comm = host.world(),
                        .rank_in_comm = ranks_in_comm.data(),
                        .tag_base = 3 * tag_count,
                        .slice = slice.get(),
                        .wait = &wait};
    Executor executor;
    for (const Call& call : calls) {
      Problem problem{.operation = call.operation,
                      .size = ranks.size,
                      .rank = rank,
                      .root = call.root,
                      .is_commutative = call.is_commutative,
                      .is_in_place = call.is_in_place && (!is_rooted(call.operation) || rank == call.root),
                      .layout = layout,
                      .blocks = {}};
      if (call.graph != nullptr) problem.neighborhood = call.graph->known_on(layout->node_of[rank]);
      auto compiled = compile(problem, call.build(problem));
      Values input, output;
      if (call.fill) call.fill(rank, &input, &output);
      std::vector<std::int64_t> starts;
      std::vector<std::int64_t> places;
      std::int64_t elements = call.elements;
      if (call.graph != nullptr) {
        BlockLimits limits;
        const Longest longest =
            find_blocks_of_neighbors(call, ranks, *compiled, rank, &limits, &starts, &places);
        elements = longest.piece;
        const auto bytes = static_cast<std::int64_t>(sizeof(std::int64_t)) * longest.block;
        if (compiled->of_short != nullptr && limits.is_short(bytes)) compiled = compiled->of_short;
      } else if (has_uneven_blocks(call.operation)) {
        starts = proof::block_starts(problem, call.elements, call.pattern);
      }
      Data data{.input = input.empty() ? nullptr : input.data(),
                .output = output.empty() ? nullptr : output.data(),
                .elements = elements,
                .element_bytes = sizeof(std::int64_t),
                .combine = call.combine};
      if (!starts.empty()) {
        data.lengths = {starts.data(), std::ssize(starts) - 1};
        data.most = has_known_blocks(call.operation) ? starts.back() : unknown_elements;
      }
      if (!places.empty()) data.input_places = data.output_places = places.data();
      ASSERT_EQ(executor.run(*compiled, ground, data), host::success);
      if (call.check) call.check(rank, output);
    }
    if (rank == 0 && ranks.rings != nullptr) *ranks.rings = slice->wait_config().doorbell->rings.load();
  });
  EXPECT_EQ(world.leftovers(), "");
}

}  // namespace unisono::schedule
