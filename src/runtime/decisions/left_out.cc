// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/decisions/left_out.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/program_name.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {
namespace {

std::string cut_front(std::string* text) {
  const std::size_t end = std::min(text->find('\0'), text->size());
  std::string front = text->substr(0, end);
  text->erase(0, end + 1);
  return front;
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
CrashesBefore find_crashes_before(const World& world) {
  if (!world.options.watches_crashes) return {};
  const std::string& own_host = world.pool->host_names()[static_cast<std::size_t>(world.rank)];
  CrashesBefore found{
      .left_out = {},
      .own = {.place = {.mpi = world.host.library_name(), .unisono = UNISONO_VERSION},
              .host = own_host,
              .rank = world.rank,
              .ranks = world.size,
              .id = own_host + ":" + std::to_string(::getpid()) + ":" + std::to_string(now_ns())}};
  tuning::CrashPlace& place = found.own.place;
  std::string packed;
  if (world.rank == 0) {
    place.program = program_name();
    place.machine = tuning::machine_name();
    packed = place.program + '\0' + place.machine + '\0' + found.own.id + '\0' +
             tuning::to_text(read_crashes(world, place));
  }
  packed = world.as_rank_0_has_it(std::move(packed));
  place.program = cut_front(&packed);
  place.machine = cut_front(&packed);
  found.own.job = cut_front(&packed);
  found.left_out = tuning::left_out_by(tuning::crashes_from(packed).crashes);
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
