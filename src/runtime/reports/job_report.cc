// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/job_report.h"

#include <ctime>
#include <utility>

#include "base/log.h"
#include "base/program_name.h"
#include "base/shown.h"
#include "runtime/reports/message_hints.h"
#include "runtime/reports/report.h"
#include "runtime/reports/report_place.h"
#include "runtime/world/this_host.h"

namespace unisono::runtime {

namespace {

constexpr std::size_t most_command = 1000;

// As a shell takes them, near enough for a reader.
std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool is_plain = !word.empty() && word.find_first_of(" \t\n'\"$*?;&|<>()") == std::string::npos;
    line.append(is_plain ? "" : "'").append(word).append(is_plain ? "" : "'");
  }
  return line;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  return text;
}

// Levels that divide the node's ranks.
std::vector<DomainFacts> domains_of(const patterns::Layout& layout, const std::vector<int>& ranks) {
  std::vector<DomainFacts> levels;
  std::size_t outer = 1;
  for (int i = 0; layout.domains != nullptr && i < layout.domains->depth(); ++i) {
    const patterns::DomainLevel& level = layout.domains->levels[static_cast<std::size_t>(i)];
    DomainFacts facts{.kind = std::string(patterns::name(level.kind)), .ranks = {}};
    for (const int rank : ranks) {
      const auto& of_domain = level.ranks_of[static_cast<std::size_t>(level.domain_of[rank])];
      if (of_domain.front() == rank) facts.ranks.push_back(static_cast<int>(of_domain.size()));
    }
    if (facts.ranks.size() == outer) continue;
    outer = facts.ranks.size();
    levels.push_back(std::move(facts));
  }
  return levels;
}

}  // namespace

void write_job_report(const World& world, std::vector<std::string> hints,
                      const std::optional<MessageTotals>& messages, const JobRecords& records) {
  if (messages) {
    for (std::string& hint : hints_of(*messages)) hints.push_back(std::move(hint));
  }
  JobFacts facts{.mpi = world.host.library_name(),
                 .family = world.host.family_name(),
                 .options = to_text(world.options),
                 .program = program_name(),
                 .command = bounded(joined(command_words()), most_command),
                 .date = now_text(),
                 .ranks = world.size,
                 .wall_s = now_s() - world.started_s,
                 .machine = world.measured.text(),
                 .waits = std::string(name(world.wait_policy())),
                 .warnings = world.notices().all(),
                 .hints = std::move(hints),
                 .messages = messages};
  if (world.agents != nullptr) facts.agents_started_again = world.agents->starts_again();
  const patterns::Layout layout = world.layout();
  for (const auto& ranks : layout.ranks_of) {
    const auto first = static_cast<std::size_t>(ranks.front());
    facts.node_names.push_back(world.pool->host_names()[first]);
    facts.node_ranks.push_back(static_cast<int>(ranks.size()));
    facts.node_cores.push_back(world.cores[first].cores);
    facts.node_domains.push_back(domains_of(layout, ranks));
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
