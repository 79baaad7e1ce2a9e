// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_table.h"

#include <algorithm>

#include "schedule/describe.h"

namespace unisono::proof {
namespace {

class TableInspector {
 public:
  TableInspector(const CheckedCall& call, int rank, std::vector<std::string>* failures)
      : call_(call),
        rank_(rank),
        local_(call.problem.layout->local_rank_of[rank]),
        ranks_(call.problem.layout->ranks_of[call.problem.layout->node_of[rank]]),
        program_(call.programs[rank]),
        failures_(*failures) {}

  void inspect() {
    if (program_.blocks == nullptr) return fail("the program has no table of blocks");
    inspect_blocks();
    inspect_slots();
    if (!failures_.empty()) return;
    for (int i = 0; i < std::ssize(program_.steps); ++i) {
      const schedule::Operands named = operands(program_.steps[i].step);
      for (const schedule::Ref* ref : {named.reads[0], named.reads[1], named.write}) {
        if (ref != nullptr) inspect_ref(i, *ref);
      }
    }
  }

  // Of whose row the length of a block is.
  int teller(const schedule::NumberedBlock& block) const {
    return block.told / program_.blocks->told_by_rank;
  }

 private:
  void fail(const std::string& text) { failures_.push_back("rank " + std::to_string(rank_) + ": " + text); }

  // Has the rank of that row told this one?
  bool is_told(std::int32_t told) const {
    const schedule::BlockTable& table = *program_.blocks;
    if (told < 0 || table.told_by_rank < 1 || told >= table.told_by_rank * std::ssize(ranks_)) return false;
    const int of = ranks_[told / table.told_by_rank];
    const int at = told % table.told_by_rank;
    if (at < table.outs) return at < (table.has_equal_outs ? 1 : call_.graph->sent_blocks(of));
    return at - table.outs < (table.has_equal_ins ? 1 : call_.graph->received_blocks(of));
  }

  void inspect_blocks() {
    const schedule::BlockTable& table = *program_.blocks;
    const std::int64_t sent = call_.graph->sent_blocks(rank_), received = call_.graph->received_blocks(rank_);
    for (std::size_t i = 0; i < table.blocks.size(); ++i) {
      const schedule::NumberedBlock& block = table.blocks[i];
      const std::string which = "block " + std::to_string(i) + " of its table";
      if (!is_told(block.told)) fail(which + " has a length that no rank of the node tells");
      if (block.index < 0) continue;
      const std::int32_t own =
          block.is_output ? table.told_in(local_, block.index) : table.told_out(local_, block.index);
      if (block.index >= (block.is_output ? received : sent) || block.told != own)
        fail(which + " is none of its own");
    }
  }

  // All ranks of a node mean the same by what stands in a slot.
  void inspect_slots() {
    const schedule::BlockTable& table = *program_.blocks;
    const schedule::BlockTable* other = call_.programs[ranks_.front()].blocks.get();
    const auto count = std::ssize(table.blocks);
    if (!table.slots.empty() && table.slots.size() != ranks_.size())
      fail("there is not one slot for each rank");
    if (other == nullptr || other->slots.size() != table.slots.size() || table.limits != other->limits ||
        table.told_by_rank != other->told_by_rank)
      return fail("ranks of a node have different tables");
    for (std::size_t slot = 0; slot < table.slots.size(); ++slot) {
      const auto [first, last] = table.slots[slot];
      const schedule::BlockTable::Run& there = other->slots[slot];
      if (first < 0 || last < first || last > count)
        return fail("a slot has blocks that are not in the table");
      const bool is_same =
          std::equal(table.blocks.begin() + first, table.blocks.begin() + last,
                     other->blocks.begin() + there.first, other->blocks.begin() + there.last);
      if (!is_same) fail("ranks of a node mean different blocks by a slot");
    }
  }

  void inspect_ref(int step, const schedule::Ref& ref) {
    const schedule::BlockTable& table = *program_.blocks;
    const auto complain = [&](const std::string& text) {
      failures_.push_back(describe(call_, rank_, step) + ": " + text);
    };
    if (ref.last > std::ssize(table.blocks) || ref.parts != 1 || ref.sub_parts != 1)
      return complain("a reference names no block of the table");
    if (ref.first == ref.last) return;
    if (ref.place == schedule::Place::input || ref.place == schedule::Place::output) {
      const schedule::NumberedBlock& block = table.blocks[ref.first];
      if (ref.last != ref.first + 1 || block.index < 0 ||
          block.is_output != (ref.place == schedule::Place::output))
        complain("a reference names a block that does not stand there");
    }
    // It may also stand alone in a lane.
    if (ref.place != schedule::Place::shared || ref.lane_first < 0) return;
    const bool has_slot = ref.owner < std::ssize(table.slots);
    if (!has_slot || ref.lane_first != table.slots[ref.owner].first || ref.first < ref.lane_first ||
        ref.last > table.slots[ref.owner].last)
      complain("a reference leaves its slot");
  }

  const CheckedCall& call_;
  int rank_, local_;
  const std::vector<int>& ranks_;
  const CheckedProgram& program_;
  std::vector<std::string>& failures_;
};

}  // namespace

void inspect_tables(const CheckedCall& call, std::vector<std::string>* failures) {
  if (call.graph == nullptr) return;
  for (int rank = 0; rank < call.problem.size; ++rank) TableInspector(call, rank, failures).inspect();
}

void inspect_own_lengths(const CheckedCall& call, std::vector<std::string>* failures) {
  for (int rank = 0; rank < call.problem.size; ++rank) {
    const TableInspector inspector(call, rank, failures);
    const int local = call.problem.layout->local_rank_of[rank];
    const bool is_own = std::ranges::all_of(
        call.programs[rank].blocks->blocks,
        [&](const schedule::NumberedBlock& block) { return inspector.teller(block) == local; });
    if (is_own) continue;
    failures->push_back("rank " + std::to_string(rank) + " deals in a block whose length it does not know");
  }
}

}  // namespace unisono::proof
