// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "base/wire.h"
#include "runtime/decisions/known_tables.h"
#include "runtime/job_life.h"
#include "runtime/job_parts.h"
#include "runtime/reports/report.h"
#include "runtime/world/telling.h"

namespace unisono::runtime {
namespace {

// What rank 0 has read of former jobs decides for all ranks.
std::string read_known(const World& world, std::vector<std::string>* warnings) {
  if (world.rank != 0) return {};
  WireWriter own;
  own.text(read_crashes_before(world));
  own.text(read_tables(world, warnings));
  return own.bytes();
}

bool names_agents(const tuning::SourcedTable& sourced) {
  return std::ranges::any_of(sourced.table.rules, [](const tuning::Rule& rule) {
    const algorithms::Descriptor* algorithm = rule.chosen.algorithm.algorithm;
    return algorithm != nullptr && algorithm->engine == algorithms::Engine::agents;
  });
}

void take_known(JobParts& parts, const std::string& read, std::vector<std::string> warnings) {
  World& world = parts.world;
  WireReader reader(read);
  CrashesBefore before = crashes_before(world, reader.text());
  parts.own_crash = std::move(before.own);
  parts.decisions.leave_out(std::move(before.left_out));
  std::vector<tuning::SourcedTable> tables = tables_of(world, reader.text(), &warnings);
  world.have_tables_agents = std::ranges::any_of(tables, names_agents);
  parts.learning.begin_with(tables);
  parts.decisions.decide_by(tuning::standard_decider(world.options.algorithm, std::move(tables), &warnings));
  if (world.rank == 0) world.notices().warn_of(warnings);
}

// A program may have nothing but non-blocking collectives, which must not wait for a set-up. What every
// program's first calls would wait for is done here, too: making the list of algorithms takes half a
// millisecond.
Communicator* set_up_world(JobParts& parts) {
  static_cast<void>(algorithms::registry());
  return parts.communicators.begin(parts.world.host.world());
}

// Where ranks share cores they do not wait for each other's first touch: the waiting takes longer than the
// pages that their first calls map.
void touch_memory(JobParts& parts, Communicator& world) {
  world.node.slice->touch_own_share();
  if (parts.world.shares_cores()) return;
  try {
    world.node.slice->barrier();  // so all of this node have done that
  } catch (const PeerLost& lost) {
    parts.communicators.end_with_lost_peer(world.handle, lost);
    return;
  }
  world.node.slice->touch_shares();
}

}  // namespace

void begin_job(JobParts& parts) {
  if (parts.world.rank == 0) remove_old_report(parts.world.options.report);
  parts.communicators.when_one_ends([&parts](Communicator& c, bool is_freed) {
    parts.started_checks.say_findings(c);
    parts.records.lock()->absorb(c);
    if (is_freed) parts.persistent.mark_freed(c.handle);
  });
  parts.learning.findings().use_board(parts.world.pool->board());
  std::vector<std::string> warnings_of_tables;
  // All hear it while they set up the world. Whether that has agents for blocking calls follows from it.
  Telling known(parts.world.host, parts.world.comm, read_known(parts.world, &warnings_of_tables));
  const bool is_asked_for_first = parts.world.agents != nullptr;
  if (is_asked_for_first) take_known(parts, known.heard(), warnings_of_tables);
  Communicator* world = parts.gate.is_open() ? set_up_world(parts) : nullptr;
  if (!is_asked_for_first) take_known(parts, known.heard(), std::move(warnings_of_tables));
  if (world != nullptr && world->node.slice != nullptr) touch_memory(parts, *world);
  parts.messages.begin();
  if (parts.world.options.progress != "calls") {
    parts.progress.start_thread();
  } else if (parts.messages.is_on()) {
    parts.progress.start_thread_for(&parts.messages);
  }
}

}  // namespace unisono::runtime
