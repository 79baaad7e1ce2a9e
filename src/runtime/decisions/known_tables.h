// SPDX-License-Identifier: BSD-3-Clause
// Tables (B4): rank 0 reads the files, all ranks decide by what it has read.
#pragma once

#include <string>
#include <vector>

#include "runtime/world/world.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {

// Where what jobs like this one learn is kept.
tuning::StorePlace store_place(const World& world);
// What rank 0 reads for all. `warnings`: of files that cannot be used.
std::string read_tables(const World& world, std::vector<std::string>* warnings);
// `read` by rank 0.
std::vector<tuning::SourcedTable> tables_of(const World& world, const std::string& read,
                                            std::vector<std::string>* warnings);

}  // namespace unisono::runtime
