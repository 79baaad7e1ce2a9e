// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/job_report.h"

#include <utility>

#include "base/log.h"
#include "runtime/reports/report.h"
#include "runtime/reports/report_place.h"
#include "runtime/world/this_host.h"

namespace unisono::runtime {

void write_job_report(const World& world, std::vector<std::string> hints, const JobRecords& records) {
  JobFacts facts{.mpi = world.host.library_name(),
                 .family = world.host.family_name(),
                 .options = to_text(world.options),
                 .ranks = world.size,
                 .wall_s = now_s() - world.started_s,
                 .machine = world.measured.text(),
                 .warnings = world.notices().all(),
                 .hints = std::move(hints)};
  for (const auto& ranks : world.layout().ranks_of) {
    const auto first = static_cast<std::size_t>(ranks.front());
    facts.node_names.push_back(world.pool->host_names()[first]);
    facts.node_ranks.push_back(static_cast<int>(ranks.size()));
    facts.node_cores.push_back(world.cores[first].cores);
  }
  const std::string& wanted = world.options.report;
  std::string problem = write_report(wanted, facts, records);
  if (problem.empty()) return;
  // The launcher, and who reads this, may be on another host.
  problem.insert(0, name_of_this_host() + ": ");
  const std::string place = other_place_of_report(wanted);
  if (!place.empty() && write_report(place, facts, records).empty()) problem += "; it is in " + place;
  log::warning(problem);
}

}  // namespace unisono::runtime
