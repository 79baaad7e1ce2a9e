// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/mesh.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace unisono::patterns {
namespace {

std::vector<int> lengths(const Mesh& mesh) {
  std::vector<int> all;
  for (int dimension = 0; dimension < mesh.dimensions(); ++dimension) all.push_back(mesh.length(dimension));
  return all;
}

TEST(Mesh, FactorsAreClose) {
  EXPECT_EQ(lengths(Mesh::of(1, 2)), (std::vector{1, 1}));
  EXPECT_EQ(lengths(Mesh::of(12, 1)), (std::vector{12}));
  EXPECT_EQ(lengths(Mesh::of(12, 2)), (std::vector{3, 4}));
  EXPECT_EQ(lengths(Mesh::of(16, 2)), (std::vector{4, 4}));
  EXPECT_EQ(lengths(Mesh::of(13, 2)), (std::vector{1, 13}));
  EXPECT_EQ(lengths(Mesh::of(27, 3)), (std::vector{3, 3, 3}));
  EXPECT_EQ(lengths(Mesh::of(24, 3)), (std::vector{2, 3, 4}));
  EXPECT_EQ(lengths(Mesh::of(1000, 3)), (std::vector{10, 10, 10}));
}

TEST(Mesh, AllgathersAlongEachDimensionReachEveryone) {
  for (int size = 1; size <= 100; ++size) {
    for (int dimensions = 1; dimensions <= 4; ++dimensions) {
      const Mesh mesh = Mesh::of(size, dimensions);
      for (int rank = 0; rank < size; ++rank) {
        Mesh::Run have{rank, rank + 1};
        for (int dimension = 0; dimension < dimensions; ++dimension) {
          const Mesh::Run own = mesh.below(rank, dimension);
          ASSERT_EQ(own.first, have.first);
          ASSERT_EQ(own.last, have.last);
          std::set<int> firsts{own.first};
          for (int distance = 1; distance < mesh.length(dimension); ++distance) {
            const int peer = mesh.along(rank, dimension, distance);
            ASSERT_EQ(mesh.along(peer, dimension, mesh.length(dimension) - distance), rank);
            const Mesh::Run theirs = mesh.below(peer, dimension);
            ASSERT_EQ(theirs.last - theirs.first, own.last - own.first);
            ASSERT_TRUE(firsts.insert(theirs.first).second);
          }
          have.last = *firsts.rbegin() + (own.last - own.first);
          have.first = *firsts.begin();
          ASSERT_EQ(have.last - have.first, (own.last - own.first) * mesh.length(dimension)) << "a run";
        }
        ASSERT_EQ(have.first, 0);
        ASSERT_EQ(have.last, size);
      }
    }
  }
}

}  // namespace
}  // namespace unisono::patterns
