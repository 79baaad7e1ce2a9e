// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/spawned.h"
#include "runtime/decisions/known_tables.h"
#include "runtime/job_life.h"
#include "runtime/job_parts.h"
#include "runtime/learning/learned_rules.h"
#include "runtime/reports/job_report.h"
#include "runtime/reports/report.h"

namespace unisono::runtime {
namespace {

// All ranks come here, unless one has died.
void end_calls(JobParts& parts) {
  if (!parts.world.has_lost_peer) {
    Communicator* world = parts.communicators.find_known(parts.world.host.world());
    if (world != nullptr && world->queue != nullptr && world->queue->is_to_settle)
      parts.started_checks.settle(*world);
    for (Communicator* c : parts.communicators.all()) parts.set_up.end_aside(*c);
  }
  parts.progress.stop();
  parts.persistent.end_all();
}

// Of all ranks. Collective over the world; empty where nothing was spawned.
std::string hint_of_spawns(const World& world) {
  const SpawnedProcesses own = spawned_processes();
  std::uint64_t sums[] = {own.calls, own.processes};
  if (world.host.agree(sums, 2, host::AgreeOp::sum, world.comm) != host::success || sums[0] == 0) return {};
  const std::string spawned = "the program has spawned " + std::to_string(sums[1]) + " processes (" +
                              std::to_string(sums[0]) + " calls)";
  if (!world.options.serves_spawned) return spawned + ", which option spawn leaves without Unisono";
  if (world.options.report == "-") return spawned + ", whose reports are their own";
  return spawned + ", whose reports are " + file_of_spawned(world.options.report, "*");
}

// Where there are kept rules the job may have gone by them, whether it learns or not.
void report(JobParts& parts) {
  const bool is_reported = !parts.world.options.report.empty();
  if (parts.is_across) return;
  if ((!is_reported && !parts.learning.has_known_rules()) || parts.world.has_lost_peer) return;
  const double under_way_s = parts.started.under_way_s();
  const auto records = parts.records.lock();
  const RankRecords own =
      is_reported ? records->all({now_s() - parts.world.started_s, under_way_s}) : records->learned_alone();
  const std::string hint_of_spawned = is_reported ? hint_of_spawns(parts.world) : std::string();
  const JobRecords of_all = gather_records(parts.world.host, parts.world.comm, own);
  if (parts.world.rank != 0) return;
  if (const std::string problem = of_all.problem(); !problem.empty()) parts.world.notices().warn(problem);
  if (parts.learning.has_known_rules()) {
    const std::string message = keep_learned(of_all.learned, store_place(parts.world),
                                             parts.world.host.library_name(), parts.world.options.learn);
    if (!message.empty()) log::warning(message);
  }
  if (!is_reported) return;
  std::vector<std::string> hints;
  if (parts.decisions.has_left_for_progress()) {
    hints.emplace_back(
        "calls that do not block were left to the MPI, since Unisono's messages could not go on while the "
        "program is elsewhere: ask for MPI_THREAD_MULTIPLE (MPI_Init_thread), or run with --progress "
        "everywhere");
  }
  if (!hint_of_spawned.empty()) hints.push_back(hint_of_spawned);
  if (!parts.messages.auto_text().empty()) hints.push_back(parts.messages.auto_text());
  write_job_report(parts.world, std::move(hints), parts.messages.totals(), of_all);
}

}  // namespace

// Agents that ranks carry on go on only where these come by: the ranks wait without standing in the host.
void meet_at_end(JobParts& parts) {
  const World& world = parts.world;
  if (world.agents == nullptr || world.options.agents != "thread" || world.has_lost_peer) return;
  const std::byte own{};
  std::vector<std::byte> of_all(static_cast<std::size_t>(world.size));
  host::Request request{};
  if (world.host.start_allgather_bytes(&own, 1, of_all.data(), world.comm, &request) != host::success) return;
  shm::WaitConfig config;
  if (const Communicator* c = parts.communicators.find_known(world.host.world())) config = c->node.wait;
  config.policy = shm::WaitPolicy::yield;
  config.progress = {[](void* progress) { static_cast<Progress*>(progress)->make(); }, &parts.progress};
  shm::Backoff backoff(config);
  for (bool is_done = false; world.host.test(&request, &is_done) == host::success && !is_done;)
    backoff.step();
}

void end_job(JobParts& parts) {
  parts.communicators.forget_watches();
  parts.messages.end();
  end_calls(parts);
  for (Communicator* c : parts.communicators.all()) {
    parts.started_checks.say_findings(*c);
    parts.records.lock()->absorb(*c);
  }
  parts.gate.left().visit([&parts](Operation operation, NativeReason reason, std::uint64_t calls) {
    parts.records.lock()->add_native(operation, reason, calls);
  });
  parts.records.lock()->absorb_starts();
  parts.regions.say_open();
  parts.learning.keep_tested();
  report(parts);
  parts.communicators.clear();
  parts.learning.findings().leave_board();
  parts.world.close();
}

}  // namespace unisono::runtime
