// SPDX-License-Identifier: BSD-3-Clause
// Tags that fall together in other hashes: standing receives of Unisono's own structure, with several
// beginnings of its hash. Of each pattern it prints the median over the beginnings and the worst, and the
// worst as a multiple of exact receives' median.
#pragma once

#include "standing.h"

namespace unisono::matching {

void print_tag_patterns(const Options& options);

}  // namespace unisono::matching
