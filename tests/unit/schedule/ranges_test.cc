// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/ranges.h"

#include <gtest/gtest.h>

namespace unisono::schedule {
namespace {

TEST(Ranges, ScaledRoundsDownAndUpExactly) {
  for (std::int64_t first = 0; first < 30; ++first) {
    for (std::int64_t parts = 1; parts < 9; ++parts) {
      for (std::int64_t elements = 0; elements < 40; ++elements) {
        const std::int64_t product = first * elements;
        EXPECT_EQ(scaled(first, parts, elements), product / parts);
        EXPECT_EQ(scaled_up(first, parts, elements), (product + parts - 1) / parts);
      }
    }
  }
}

TEST(Ranges, ScaledDoesNotOverflowWhereTheResultFits) {
  const std::int64_t elements = std::int64_t{1} << 44;
  const std::int64_t parts = std::int64_t{1} << 17;
  EXPECT_EQ(scaled(100 * parts + 1, parts, elements), 100 * elements + elements / parts);
  EXPECT_EQ(scaled_up(100 * parts + 1, parts, elements), 100 * elements + elements / parts);
}

TEST(Ranges, PiecesOfARangeTileIt) {
  for (std::int64_t elements = 0; elements < 20; ++elements) {
    for (std::int64_t pieces = 1; pieces < 7; ++pieces) {
      for (const Ref& ref : {whole(Place::output), part(Place::scratch, 4, 3), block(Place::input, 2)}) {
        const ElementRange all = element_range(ref, elements);
        std::int64_t next = all.first;
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          const ElementRange range = piece_range(ref, elements, piece, pieces);
          EXPECT_EQ(range.first, next);
          EXPECT_LE(range.length(), (all.length() + pieces - 1) / pieces);
          next = range.last;
        }
        EXPECT_EQ(next, all.last);
      }
    }
  }
}

TEST(Ranges, SubRangesTileEveryPieceAndLieBehindEachOtherInTheLane) {
  const Ref ref = whole(Place::output);
  for (std::int64_t piece = 0; piece < 3; ++piece) {
    const ElementRange all = whole_piece(ref, 17, piece, 3);
    std::int64_t next = all.first;
    for (int i = 0; i < 4; ++i) {
      const ElementRange range = piece_range(ref.sub(i, 4), 17, piece, 3);
      EXPECT_EQ(range.first, next);
      EXPECT_EQ(offset_in_lane(ref.sub(i, 4), 17, piece, 3), next - all.first);
      next = range.last;
    }
    EXPECT_EQ(next, all.last);
  }
}

TEST(Ranges, PieceCountKeepsPiecesWithinSegmentAndLane) {
  Stage stage;
  EXPECT_EQ(piece_count(stage, 1000, 8, 0), 1);
  stage.segment_bytes = 100;  // 12 elements of 8 bytes
  EXPECT_EQ(piece_count(stage, 0, 8, 0), 1);
  EXPECT_EQ(piece_count(stage, 12, 8, 0), 1);
  EXPECT_EQ(piece_count(stage, 13, 8, 0), 2);
  EXPECT_EQ(piece_count(stage, 25, 8, 0), 3);
  EXPECT_EQ(piece_count(stage, 3, 1000, 0), 3);  // an element is never cut
  stage.shared = SharedMode::own;
  EXPECT_EQ(piece_count(stage, 25, 8, 64), 4);
  EXPECT_EQ(piece_count(stage, 25, 8, 4096), 3);
  stage.segment_bytes = 0;
  EXPECT_EQ(piece_count(stage, 25, 8, 64), 4);
  // Thirds of 10 elements are up to 4 long.
  stage.extent_parts = 3;
  EXPECT_EQ(piece_count(stage, 10, 8, 24), 2);
  stage.extent = 2;
  EXPECT_EQ(piece_count(stage, 10, 8, 24), 3);
}

TEST(Ranges, PiecesNeededCoverTheSameElements) {
  for (std::int64_t length = 0; length < 30; ++length) {
    for (std::int64_t pieces = 1; pieces < 9; ++pieces) {
      for (std::int64_t others = 1; others < 9; ++others) {
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          const std::int64_t needed = pieces_needed(piece, pieces, others);
          ASSERT_LE(needed, others);
          const std::int64_t end = scaled(piece + 1, pieces, length);
          EXPECT_GE(scaled(needed, others, length), end);
        }
      }
    }
  }
  EXPECT_EQ(pieces_needed(0, 2, 10), 5);
  EXPECT_EQ(pieces_needed(4, 10, 2), 1);
  EXPECT_EQ(pieces_needed(5, 10, 2), 2);
}

TEST(Ranges, PiecesCoveredAreThoseWhoseNeedsAreMet) {
  for (std::int64_t pieces = 1; pieces < 12; ++pieces) {
    for (std::int64_t others = 1; others < 12; ++others) {
      for (std::int64_t done = 0; done <= others; ++done) {
        const std::int64_t covered = pieces_covered(done, others, pieces);
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          EXPECT_EQ(piece < covered, pieces_needed(piece, pieces, others) <= done);
        }
      }
    }
  }
}

TEST(Ranges, AWalkMeetsThePiecesOfACut) {
  for (const std::int64_t length : {0, 1, 2, 7, 64, 100, 1 << 20}) {
    for (std::int64_t pieces = 1; pieces < 40; ++pieces) {
      PieceWalk walk(length, pieces);
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        ASSERT_EQ(walk.next(), cut({0, length}, piece, piece + 1, pieces)) << length << " in " << pieces;
      }
    }
  }
}

TEST(Ranges, InPlaceMovesReferencesToWhereTheDataLies) {
  Problem problem{.operation = Operation::allgather, .size = 4, .rank = 2, .is_in_place = true};
  EXPECT_EQ(in_place(problem, block(Place::input, 0)), block(Place::output, 2));
  EXPECT_EQ(in_place(problem, block(Place::output, 1)), block(Place::output, 1));
  EXPECT_EQ(in_place(problem, part(Place::input, 1, 3)), part(Place::output, 7, 3));
  problem.operation = Operation::scatter;
  EXPECT_EQ(in_place(problem, block(Place::output, 0)), block(Place::input, 2));
  EXPECT_EQ(in_place(problem, block(Place::input, 1)), block(Place::input, 1));
  problem.operation = Operation::allreduce;
  EXPECT_EQ(in_place(problem, part(Place::input, 1, 3)), part(Place::output, 1, 3));
  EXPECT_EQ(in_place(problem, whole(Place::scratch)), whole(Place::scratch));
  problem.is_in_place = false;
  EXPECT_EQ(in_place(problem, whole(Place::input)), whole(Place::input));
}

TEST(Ranges, KeysOfRoundsDiffer) {
  EXPECT_NE(message_key(0, 0, 4096), message_key(0, 1, 4096));
  EXPECT_NE(message_key(0, 0, 4096), message_key(1, 0, 4096));
  for (int round = 0; round < 10000; round += 17) {
    EXPECT_GE(message_key(3, round, 4096), 0);
    EXPECT_LT(message_key(3, round, 4096), 4096);
  }
}

}  // namespace
}  // namespace unisono::schedule
