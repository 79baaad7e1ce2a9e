// SPDX-License-Identifier: BSD-3-Clause
// One count for a checked call: how many pieces, and which elements each piece of each step touches.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "proof/check_program.h"

namespace unisono::proof {

// The count of a call and the size of the node's shared memory. Sizes are numbers only, nothing is allocated
// by them: an element may be large, to make few elements many pieces.
struct CheckLoad {
  std::int64_t elements = 1;  // uneven blocks: of the longest
  int pattern = 0;            // uneven blocks: which lengths (block_length)
  std::int64_t element_bytes = 64;
  std::int64_t area_elements = 1024;  // per local rank and channel
  // Where not 0: the first stage that has a segment is cut into so many pieces, whatever fits in a segment.
  // Each further stage is cut into `pieces_step` more, up to `most_pieces_of_stage`, and then again from
  // `pieces` on.
  int pieces = 0;
  int pieces_step = 0;
  // Of neighbours, in place of the parameters' own: up to which length blocks travel together, bytes.
  std::optional<schedule::BlockLimits> limits = std::nullopt;
  static constexpr int most_pieces_of_stage = 5;
};
// Pieces of stage number `index`; `lane_elements` as in SlotGeometry. Stages that go on with a channel are
// cut as the one that has begun with it: shares of the same pieces stand in several.
std::int64_t piece_count(const std::vector<schedule::Stage>& stages, std::size_t index, const CheckLoad& load,
                         const schedule::Units& units, std::int64_t lane_elements);

// How long the block is that `from` sends to `to`, in one of several patterns: all alike, all different, none
// but one, none from or to some ranks.
inline constexpr int block_patterns = 4;
std::int64_t block_length(const schedule::Problem& problem, std::int64_t longest, int pattern, int from,
                          int to);
// Where this rank's blocks begin, in the order of their numbers: one entry for each, and one more.
std::vector<std::int64_t> block_starts(const schedule::Problem& problem, std::int64_t longest, int pattern);
// How many elements input or output have, of uneven blocks.
std::int64_t block_extent(const schedule::Problem& problem, const std::vector<std::int64_t>& starts,
                          schedule::Place place);

// Of neighbours: as much shared memory as the blocks want that stand there, and no more.
void fit_slots(const CheckedCall& call, CheckLoad* load);

// A channel's slots as a stage uses them, in elements.
struct SlotGeometry {
  bool is_common = false;
  int buffers = 0;
  std::int64_t slot_elements = 0;
  std::int64_t lane_elements = 0;
};
SlotGeometry slot_geometry(const schedule::Stage& stage, std::int64_t area_elements, int local_size);

// Elements of a rank's own memory that a step touches.
struct Access {
  schedule::Place place = schedule::Place::output;
  schedule::ElementRange range;
  bool is_write = false;
};
struct AccessList {
  std::array<Access, 4> items;
  int count = 0;
  void add(schedule::Place place, const schedule::ElementRange& range, bool is_write) {
    if (range.length() > 0) items[count++] = {place, range, is_write};
  }
  const Access* begin() const { return items.data(); }
  const Access* end() const { return items.data() + count; }
};

// One rank's program with a count. An instance is one piece of one step; instances of a step are consecutive.
class LoadedProgram {
 public:
  LoadedProgram(const CheckedCall& call, int rank, const CheckLoad& load);

  const CheckedProgram& program() const { return *program_; }
  int rank() const { return rank_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  std::int64_t pieces(int stage) const { return pieces_[stage]; }
  const SlotGeometry& geometry(int stage) const { return geometries_[stage]; }

  int instances() const { return first_instance_.back(); }
  int first_instance(int step) const { return first_instance_[step]; }
  int step_of(int instance) const { return step_of_[instance]; }
  int piece_of(int instance) const { return instance - first_instance_[step_of_[instance]]; }

  schedule::ElementRange range(int instance, const schedule::Ref& ref) const;
  std::int64_t offset_in_lane(int instance, const schedule::Ref& ref) const;
  AccessList accesses(int instance) const;
  // Of neighbours: a copy of a block that is too long, or too short, for this way.
  bool goes_another_way(int instance) const;
  // Of neighbours: is it a cell, which may be filled in part?
  bool is_cell(const schedule::Ref& ref) const;
  // Is the message really sent? The same on both sides when their lengths are equal.
  bool is_sent(int instance) const;

  // How many elements the rank's memory at `place` has.
  std::int64_t extent(schedule::Place place) const;
  schedule::Units units() const {
    return {load_.elements, {starts_.empty() ? nullptr : starts_.data(), std::ssize(starts_) - 1}, most_};
  }
  // Uneven blocks.
  const std::vector<std::int64_t>& starts() const { return starts_; }
  std::int64_t length(std::int64_t block) const { return starts_[block + 1] - starts_[block]; }
  // Of neighbours: where each block of the rank's own begins, by index, and where the last one ends.
  const std::vector<std::int64_t>& inputs() const { return inputs_; }
  const std::vector<std::int64_t>& outputs() const { return outputs_; }

 private:
  void find_blocks(const CheckedGraph& graph);
  const CheckedProgram* program_;
  schedule::Problem problem_;
  CheckLoad load_;
  std::vector<std::int64_t> starts_;  // of uneven blocks
  std::vector<std::int64_t> inputs_, outputs_;
  std::int64_t most_ = 0;
  // Of neighbours:
  schedule::BlockLimits limits_;
  bool is_short_ = false;  // the node has short blocks alone
  int rank_, size_, local_rank_, local_size_;
  std::vector<std::int64_t> pieces_;
  std::vector<SlotGeometry> geometries_;
  std::vector<int> first_instance_;
  std::vector<std::int32_t> step_of_;
};

}  // namespace unisono::proof
