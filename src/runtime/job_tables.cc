// SPDX-License-Identifier: BSD-3-Clause
// Tables (B4): rank 0 reads the files, all ranks decide by what it has read.
#include "runtime/job.h"
#include "tuning/tables/table_files.h"

namespace unisono::runtime {

tuning::StorePlace Job::store_place() const {
  return tuning::store_place(tuning::cache_directory(options_.cache), tuning::machine_name(),
                             host_.library_name(), patterns::Layout::from_labels(node_labels_));
}

std::vector<tuning::SourcedTable> Job::read_tables(std::vector<std::string>* warnings) {
  std::string packed;
  if (world_rank_ == 0) {
    packed = tuning::pack(tuning::read_table_texts(options_, store_place(), warnings));
  }
  std::vector<tuning::SourcedTable> tables =
      tuning::tables_from(tuning::unpack(as_rank_0_has_it(std::move(packed))), warnings);
  for (const tuning::SourcedTable& sourced : tables) {
    const std::string problem = tuning::only_for_others(sourced.table, host_.library_name());
    if (!problem.empty()) warnings->push_back(problem);
  }
  return tables;
}

}  // namespace unisono::runtime
