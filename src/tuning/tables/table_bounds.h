// SPDX-License-Identifier: BSD-3-Clause
// What is kept for later jobs does not grow without bound. New rules replace those for the same calls. Of too
// many the least used ones go, those that have not been used for the longest time first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/own_folder.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {

inline constexpr std::size_t most_stored_rules = 1000;   // of one file
inline constexpr std::size_t most_region_rules = 500;    // of them in regions of programs
inline constexpr std::size_t most_stored_files = 64;     // of one machine and MPI
inline constexpr std::size_t most_read_bytes = 8 << 20;  // of all of them: one file more ends it

// One replaces the one with equal conditions, all others stay, also those that this version cannot read.
void merge_into(TableJson* stored, const std::vector<Rule>& rules, const std::string& today);
void keep_within_bounds(TableJson* stored);
// Those that have been written least recently, but for `own`.
void remove_oldest_tables(const OwnFolder& folder, const std::string& own);

}  // namespace unisono::tuning
