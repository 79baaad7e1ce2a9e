// SPDX-License-Identifier: BSD-3-Clause
// What the adapter's profile needs of the job, and gives to it.
#pragma once

#include <vector>

#include "runtime/reports/job_profile.h"

namespace unisono::runtime {

// Does the user want one? Asked once, before any call is served and before start().
bool is_profile_wanted();
// The node of each rank of the world, by a label; null where nothing is running.
const std::vector<int>* node_labels();
// What this rank has counted of its MPI calls, for the report; before finish().
void keep_profile(RankProfile profile);

}  // namespace unisono::runtime
