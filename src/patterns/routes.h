// SPDX-License-Identifier: BSD-3-Clause
// Ways over a virtual mesh: a block goes along one dimension after the other, so that nobody sends to more
// than the length of each. C8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unisono::patterns {

enum class MeshOf { nodes, ranks };

// Points 0, 1, ... of a mesh that may have more places than points: a place without a point is kept by the
// one whose highest coordinates are 0.
class VirtualMesh {
 public:
  // The first dimension is the slowest: as MPI counts ranks of a Cartesian topology.
  VirtualMesh(std::vector<int> lengths, int points);
  // As many dimensions of 2 as it takes: each phase halves the distance.
  static VirtualMesh of_twos(int points);

  int dimensions() const { return static_cast<int>(lengths_.size()); }
  const std::vector<int>& lengths() const { return lengths_; }
  // "4x4x4".
  std::string text() const;
  // Where a block on its way from one point to another is before phase `phase`; behind the last one: at `to`.
  int point_of(int from, int to, int phase) const;

 private:
  std::vector<int> lengths_;
  std::vector<std::int64_t> strides_;
  int points_;
};

// A block that moves in one phase: `block` is whatever number its owner gave it.
struct Hop {
  int from = 0, to = 0;
  int block = 0;
  auto operator<=>(const Hop&) const = default;
};
struct Wish {
  int block = 0;
  int from = 0;  // points
  int to = 0;
};
// Of each phase what moves, in the order of points and blocks, each block once on a way however many want it.
std::vector<std::vector<Hop>> hops_over(const VirtualMesh& mesh, const std::vector<Wish>& wishes);

}  // namespace unisono::patterns
