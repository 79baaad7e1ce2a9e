// SPDX-License-Identifier: BSD-3-Clause
// What a job has learned becomes rules for the next one, in the user's cache (A10; docs/guide/learning.md).
#pragma once

#include <string>
#include <vector>

#include "runtime/reports/learned.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {

// One for each kind of calls of which enough was found out. Of kinds that rules cannot tell apart the first
// one counts: in the order of keep_most_important() it took most time.
std::vector<tuning::Rule> rules_of(const std::vector<LearnedKind>& kinds);

// Stores them, and what going by kept rules costs those. Rank 0 calls it. `learn` is the option, `mpi` as
// Host::library_name() gives it. What the user should know of it, as a sentence; empty: nothing.
std::string keep_learned(const Learned& learned, const tuning::StorePlace& place, const std::string& mpi,
                         const std::string& learn);

}  // namespace unisono::runtime
