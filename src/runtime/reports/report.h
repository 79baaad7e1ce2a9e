// SPDX-License-Identifier: BSD-3-Clause
// What a job did, as people and programs read it: JSON (docs/guide/report.md), or a short text. Both are made
// of the records of all ranks, here and nowhere else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/messages/totals.h"
#include "runtime/reports/job_records.h"

namespace unisono::runtime {

// What the report says of the job as a whole; rank 0's.
// The domains of one kind on a node.
struct DomainFacts {
  std::string kind;
  std::vector<int> ranks;  // in each, in the order of their lowest ranks
};

struct JobFacts {
  std::string mpi, family, options;    // options: lines `key = value`
  std::string program, command, date;  // rank 0's, and when it came to MPI_Finalize, 2026-11-27T17:03:21Z
  int ranks = 1;
  double wall_s = 0;
  std::vector<std::string> node_names;  // one per node, with its number of ranks and usable cores beside it
  std::vector<int> node_ranks;
  std::vector<int> node_cores;
  std::vector<std::vector<DomainFacts>> node_domains;  // outermost first; none: nothing is known of them
  std::string machine;                                 // what this machine's file has decided; empty: nothing
  std::string waits;  // how rank 0 has waited for others of its node, a value of option wait
  std::vector<std::string> warnings, hints;
  std::optional<int> agents_started_again;  // nothing: the job had no agents
  std::optional<MessageTotals> messages;    // that Unisono has carried
};

// "blocking", "non-blocking", "persistent".
const char* name(CallForm form);

nlohmann::ordered_json report_json(const JobFacts& facts, const JobRecords& records);
// Lines, the last one ended.
std::string report_summary(const JobFacts& facts, const JobRecords& records);

// To a file (written whole, then renamed), or "-": the summary on standard error. Empty, or what went wrong.
std::string write_report(const std::string& where, const JobFacts& facts, const JobRecords& records);
// Removes the report of an earlier job from where this one's goes: nobody shall take it for this job's, which
// may never come to its end. Another file, or a link, stays.
void remove_old_report(const std::string& where);

}  // namespace unisono::runtime
