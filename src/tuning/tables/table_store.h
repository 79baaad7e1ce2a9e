// SPDX-License-Identifier: BSD-3-Clause
// What jobs leave for the next one: tables in the user's cache directory, by machine, MPI and shape of the
// job (A10). Jobs at the same time neither damage a file nor lose what another one has written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "patterns/layout.h"
#include "tuning/tables/leaning.h"
#include "tuning/tables/table.h"

namespace unisono::tuning {

using unisono::cache_directory;

// The processors of this host: "Intel(R) Xeon(R) ..., 48 processors".
std::string machine_name();

struct StorePlace {
  std::string cache;               // empty: nothing is kept
  std::vector<std::string> inner;  // folders in it: those of one machine and MPI
  std::string name;                // of the file of the job's shape
  std::string directory, file;     // the same as paths, for messages
};
// `cache` as cache_directory() gives it, `mpi` as Host::library_name().
StorePlace store_place(const std::string& cache, const std::string& machine, const std::string& mpi,
                       const patterns::Layout& world);

// The tables of a place that are there: the job's shape first, then the others by name; not all of very many.
// A cache directory that is not the user's own is not used: `warnings` says so.
struct StoredText {
  std::string file, text;
};
std::vector<StoredText> read_stored(const StorePlace& place, std::vector<std::string>* warnings);

// A job that writes holds it, in the folder of the tables.
inline constexpr const char* lock_name = ".lock";

// Merges `rules` into the file of the job's shape: one replaces the one with equal conditions, all others
// stay within the bounds (table_bounds.h), also those that this version cannot read. Waits a short time for
// other jobs. Rank 0 calls it. The date of the provenance is filled in.
struct Stored {
  std::string problem;  // why nothing was kept; empty: all was
  std::string note;     // what the user should know all the same
  // As one sentence about `what` ("what was learned"); empty: there is nothing to say.
  std::string message(const std::string& what) const;
};
// `leans`: rules that the job went by, of this file and others of the place; those that `rules` replace have
// been judged by that.
Stored store_rules(const StorePlace& place, Provenance provenance, const std::vector<Rule>& rules,
                   const std::vector<Lean>& leans = {});

}  // namespace unisono::tuning
