// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/decisions/left_out.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/program_name.h"
#include "base/version.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {
namespace {

std::string cut_front(std::string* text) {
  const std::size_t end = std::min(text->find('\0'), text->size());
  std::string front = text->substr(0, end);
  text->erase(0, end + 1);
  return front;
}

const std::string& own_host(const World& world) {
  return world.pool->host_names()[static_cast<std::size_t>(world.rank)];
}

std::string own_id(const World& world) {
  return own_host(world) + ":" + std::to_string(::getpid()) + ":" + std::to_string(now_ns());
}

tuning::CrashPlace place_of(const World& world) {
  return {.mpi = world.host.library_name(), .unisono = own_version()};
}

// Rank 0 says what it read.
std::vector<tuning::Crash> read_crashes(const World& world, const tuning::CrashPlace& place) {
  const std::string file = tuning::crash_file(tuning::cache_directory(world.options.cache));
  tuning::ReadCrashes read = tuning::read_crashes(file);
  // That the whole cache is not used is said where tables are read.
  if (!read.problem.empty() && read.problem.rfind(file, 0) == 0)
    world.notices().warn("crash records: " + read.problem);
  if (read.malformed != 0) {
    world.notices().warn(std::to_string(read.malformed) + " lines of " + file +
                         " are ignored: they are no records");
  }
  std::erase_if(read.crashes, [&](const tuning::Crash& crash) { return crash.place != place; });
  return std::move(read.crashes);
}

}  // namespace

// What rank 0 runs, and on what, names the record for all ranks: it is rank 0 that looks for it in the next
// job.
std::string read_crashes_before(const World& world) {
  if (!world.options.watches_crashes) return {};
  tuning::CrashPlace place = place_of(world);
  place.program = program_name();
  place.machine = tuning::machine_name();
  return place.program + '\0' + place.machine + '\0' + own_id(world) + '\0' +
         tuning::to_text(read_crashes(world, place));
}

CrashesBefore crashes_before(const World& world, std::string read) {
  if (!world.options.watches_crashes) return {};
  CrashesBefore found;
  tuning::Crash& own = found.own;
  own.place = place_of(world);
  own.place.program = cut_front(&read);
  own.place.machine = cut_front(&read);
  own.host = own_host(world);
  own.rank = world.rank;
  own.ranks = world.size;
  own.job = cut_front(&read);
  own.id = world.rank == 0 ? own.job : own_id(world);
  found.left_out = tuning::left_out_by(tuning::crashes_from(read).crashes);
  if (world.rank != 0) return found;
  for (const auto& [algorithm, why] : found.left_out) {
    world.notices().warn(std::string(name(algorithm->operation)) + ":" + algorithm->name +
                         " is quarantined: " + why +
                         " (`unisono crashes` shows it, with --forget it may be used again)");
  }
  return found;
}

std::optional<CrashFacts> crash_facts(const World& world, const tuning::Crash& own) {
  if (!world.options.watches_crashes) return std::nullopt;
  return CrashFacts{.file = tuning::crash_file(tuning::cache_directory(world.options.cache)),
                    .known = own,
                    .is_said = world.options.log != "quiet"};
}

}  // namespace unisono::runtime
