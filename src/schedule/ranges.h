// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of references: which elements a reference, a piece of it and a part of a piece stand for,
// and how many pieces a stage has. Executor, checker, printer and cost model all use this, so that they mean
// the same. docs/inside/engines.md, "Programs".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "schedule/program.h"

namespace unisono::schedule {

// a / b for a >= 0, b > 0; 64-bit division is several times slower than 32-bit on many processors.
inline std::int64_t divide(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

// floor(first * elements / parts). Whole units are split off, so that only (parts - 1) * elements must fit.
inline std::int64_t scaled(std::int64_t first, std::int64_t parts, std::int64_t elements) {
  if (parts == 1) return first * elements;
  if (first < parts) return divide(first * elements, parts);
  const std::int64_t units = divide(first, parts);
  return units * elements + divide((first - units * parts) * elements, parts);
}

// The same, rounded up.
inline std::int64_t scaled_up(std::int64_t first, std::int64_t parts, std::int64_t elements) {
  const std::int64_t units = divide(first, parts);
  return units * elements + divide((first - units * parts) * elements + parts - 1, parts);
}

// Where blocks of uneven length begin in a vector of them all; a second vector follows behind the first.
struct Lengths {
  const std::int64_t* starts = nullptr;  // count + 1 entries; null: every unit has equally many elements
  std::int64_t count = 0;

  bool are_uneven() const { return starts != nullptr; }
  std::int64_t start(std::int64_t block) const {
    if (block <= count) return starts[block];
    const std::int64_t vectors = divide(block, count);
    return vectors * starts[count] + starts[block - vectors * count];
  }
};

// What the units of a call hold: `elements` each, or where they are uneven, at most so many.
struct Units {
  std::int64_t elements = 0;
  Lengths lengths{};
  // Uneven: no run of blocks is longer; the same on all ranks.
  std::int64_t most = 0;

  Units(std::int64_t each) : elements(each) {}
  Units(std::int64_t longest, const Lengths& uneven, std::int64_t most_of_run)
      : elements(longest), lengths(uneven), most(most_of_run) {}
};
// Of `most` where ranks do not know all lengths.
inline constexpr std::int64_t unknown_elements = std::int64_t{1} << 62;

struct ElementRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t length() const { return last - first; }
  bool operator==(const ElementRange&) const = default;
};

// The run [first, last) of `parts` near-equal parts of a range.
inline ElementRange cut(const ElementRange& range, std::int64_t first, std::int64_t last,
                        std::int64_t parts) {
  const std::int64_t length = range.length();
  return {range.first + scaled(first, parts, length), range.first + scaled(last, parts, length)};
}

// All elements of the reference, its sub-range left aside.
inline ElementRange element_range(const Ref& ref, const Units& units) {
  if (units.lengths.are_uneven()) return {units.lengths.start(ref.first), units.lengths.start(ref.last)};
  return {scaled(ref.first, ref.parts, units.elements), scaled(ref.last, ref.parts, units.elements)};
}

// The elements of piece `piece` of `pieces`, before (whole_piece) and after (piece_range) taking the
// sub-range.
inline ElementRange whole_piece(const Ref& ref, const Units& units, std::int64_t piece, std::int64_t pieces) {
  const ElementRange range = element_range(ref, units);
  return pieces == 1 ? range : cut(range, piece, piece + 1, pieces);
}
inline bool has_sub_range(const Ref& ref) {
  return ref.sub_last - ref.sub_first != ref.sub_parts;
}
inline ElementRange piece_range(const Ref& ref, const Units& units, std::int64_t piece, std::int64_t pieces) {
  const ElementRange range = whole_piece(ref, units, piece, pieces);
  return has_sub_range(ref) ? cut(range, ref.sub_first, ref.sub_last, ref.sub_parts) : range;
}
// Where a shared reference's bytes begin within its lane, elements.
inline std::int64_t offset_in_lane(const Ref& ref, const Units& units, std::int64_t piece,
                                   std::int64_t pieces) {
  if (ref.lane_first >= 0) return units.lengths.start(ref.first) - units.lengths.start(ref.lane_first);
  if (!has_sub_range(ref)) return 0;
  return scaled(ref.sub_first, ref.sub_parts, whole_piece(ref, units, piece, pieces).length());
}

// The elements of `last` of `parts` units, rounded up.
inline std::int64_t elements_up_to(std::int64_t last, std::int64_t parts, const Units& units) {
  if (units.lengths.are_uneven()) return units.lengths.start(last);
  return scaled_up(last, parts, units.elements);
}
// The longest reference of a stage, at most: the same on all ranks.
inline std::int64_t extent_elements(const Stage& stage, const Units& units) {
  const std::int64_t even = scaled_up(stage.extent, stage.extent_parts, units.elements);
  return units.lengths.are_uneven() ? std::min(even, units.most) : even;
}

// How many pieces the stage has. `lane_bytes`: of the stage's channel; ignored where it has none. No piece is
// longer than a segment or a lane, as long as one element fits there.
inline std::int64_t piece_count(const Stage& stage, const Units& units, std::size_t element_bytes,
                                std::size_t lane_bytes) {
  const bool has_lane = stage.shared != SharedMode::none;
  if (stage.segment_bytes == 0 && !has_lane) return 1;
  std::int64_t limit_bytes = has_lane ? static_cast<std::int64_t>(lane_bytes) : stage.segment_bytes;
  if (stage.segment_bytes != 0) limit_bytes = std::min(limit_bytes, stage.segment_bytes);
  const std::int64_t limit = std::max<std::int64_t>(
      1, divide(limit_bytes, std::max<std::int64_t>(1, static_cast<std::int64_t>(element_bytes))));
  // Rounded up: the longest of several near-equal parts.
  const std::int64_t extent = extent_elements(stage, units);
  return std::max<std::int64_t>(1, divide(extent + limit - 1, limit));
}

// The elements of the longest of the stage's pieces, at most: the same on all ranks.
inline std::size_t longest_piece(const Stage& stage, const Units& units, std::int64_t pieces) {
  return static_cast<std::size_t>(divide(extent_elements(stage, units) + pieces - 1, pieces));
}

// Of a range that is cut into `other_pieces`, how many overlap the first piece + 1 pieces of the same range
// cut into `pieces`? These must be done before `piece` may go on.
inline std::int64_t pieces_needed(std::int64_t piece, std::int64_t pieces, std::int64_t other_pieces) {
  if (pieces == other_pieces) return piece + 1;
  return divide((piece + 1) * other_pieces + pieces - 1, pieces);
}

// The other way round: how many of `pieces` lie within the first `other_done` of `other_pieces`.
inline std::int64_t pieces_covered(std::int64_t other_done, std::int64_t other_pieces, std::int64_t pieces) {
  if (pieces == other_pieces) return other_done;
  return divide(other_done * pieces, other_pieces);
}

// The pieces of a range one after the other, as cut() makes them, with one division for them all. What the
// division leaves makes a piece longer whenever it has added up to an element.
class PieceWalk {
 public:
  PieceWalk() = default;
  PieceWalk(std::int64_t length, std::int64_t pieces)
      : pieces_(pieces), quotient_(divide(length, pieces)), remainder_(length - quotient_ * pieces) {}

  ElementRange next() {
    const std::int64_t first = next_;
    left_ += remainder_;
    next_ += quotient_;
    if (left_ >= pieces_) {
      left_ -= pieces_;
      ++next_;
    }
    return {first, next_};
  }

 private:
  std::int64_t pieces_ = 1, quotient_ = 0, remainder_ = 0;
  std::int64_t next_ = 0, left_ = 0;
};

// A message of no bytes is not sent, on both sides alike, unless it is a token: in a barrier, or where the
// reference is empty whatever the count.
inline bool is_token(Operation operation, const Ref& ref) {
  return !moves_data(operation) || ref.first == ref.last;
}

// Messages of one pair match by this number. Where it is equal, they match by the order in which they are
// written. So a message is sent and received in the same round of the same stage. Several messages between
// one pair in one round are sent and received in the same order.
inline int message_key(int stage, int round, int key_count) {
  constexpr int stage_stride = 1021;  // prime: keys of neighbouring stages meet late
  return static_cast<int>((static_cast<std::int64_t>(stage) * stage_stride + round) % key_count);
}

// Uneven blocks: the number of the one that `place` begins with (input or output). Those of neighbours stand
// where the call's places say.
std::int64_t first_block(const Problem& problem, Place place);

// MPI_IN_PLACE: the problem's reference, moved to where MPI says that the data lies.
Ref in_place(const Problem& problem, const Ref& ref);
// Is a copy, its references rewritten by in_place(), of what already stands where it goes? (The root of a
// scatter in place has its own block in its input.)
bool is_needless_copy(const Problem& problem, const Step& step);

}  // namespace unisono::schedule
