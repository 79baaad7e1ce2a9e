// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/decisions/known_tables.h"

#include "tuning/tables/table_files.h"

namespace unisono::runtime {

tuning::StorePlace store_place(const World& world) {
  return tuning::store_place(tuning::cache_directory(world.options.cache), tuning::machine_name(),
                             world.host.library_name(), world.layout());
}

std::string read_tables(const World& world, std::vector<std::string>* warnings) {
  return tuning::pack(tuning::read_table_texts(world.options, store_place(world), warnings));
}

std::vector<tuning::SourcedTable> tables_of(const World& world, const std::string& read,
                                            std::vector<std::string>* warnings) {
  std::vector<tuning::SourcedTable> tables = tuning::tables_from(tuning::unpack(read), warnings);
  for (const tuning::SourcedTable& sourced : tables) {
    const std::string problem = tuning::only_for_others(sourced.table, world.host.library_name());
    if (!problem.empty()) warnings->push_back(problem);
  }
  return tables;
}

}  // namespace unisono::runtime
