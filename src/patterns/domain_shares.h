// SPDX-License-Identifier: BSD-3-Clause
// How a node's ranks share the work on a vector along their domains, so that each byte of it crosses into a
// domain once, and out of it once. Pure arithmetic, the same on all ranks.
#pragma once

#include <vector>

#include "patterns/layout.h"

namespace unisono::patterns {

// Some of a node's ranks, ascending, and those among them that work for all: on one run of parts each.
struct SharingGroup {
  std::vector<int> members;  // local ranks
  std::vector<int> workers;

  bool has(int local_rank) const;
  // Which worker has part `part` of `parts`, and the run [first, last) of the worker with this index.
  int worker_of(int part, int parts) const;
  int first_of(int index, int parts) const;
};

// A domain around a rank, and the domains in it, or the single ranks of the innermost one.
struct SharingLevel {
  SharingGroup whole;
  std::vector<SharingGroup> inside;  // in the order of their lowest ranks
};

// Of local rank `local_rank`: its innermost domain first, its node last. All members of a group work for it.
// Of those with `root` in them only the ranks in the root's innermost domain do: what is for the root leaves
// no domain with it. -1: there is no root.
std::vector<SharingLevel> sharing_levels(const Layout& layout, int node, int local_rank, int root);

}  // namespace unisono::patterns
