// SPDX-License-Identifier: BSD-3-Clause
// Groups of any size, each grown by the friend that leaves most in common. They are for graphs in which all
// groups of one size are too many to look at. Memory goes with the number of neighbours. C1-C3.
#pragma once

#include <functional>

#include "patterns/groups.h"

namespace unisono::patterns {

enum class Candidates {
  all,     // whoever shares a destination
  hashed,  // whose destinations give the same two of some hashes (min-hash): few of many that have little in
           // common
};

struct GrowthOptions {
  int most_members = 16;
  Scope scope = Scope::node;
  Candidates candidates = Candidates::all;
  std::function<void(double)> progress;  // how much is done, from 0 to 1
};
// A group of k with c destinations in common saves (k - 1) c messages, and takes k (k - 1) to exchange
// blocks.
Grouping grown_groups(Destinations destinations, const Layout& layout, const GrowthOptions& options);

}  // namespace unisono::patterns
