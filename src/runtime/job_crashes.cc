// SPDX-License-Identifier: BSD-3-Clause
// Algorithms in which a signal has ended jobs of this program before (B9): rank 0 reads of them, and no rank
// uses them. And what this process leaves behind where it ends so.
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/program_name.h"
#include "runtime/job.h"
#include "tuning/decisions/crash_records.h"

namespace unisono::runtime {
namespace {

std::string cut_front(std::string* text) {
  const std::size_t end = std::min(text->find('\0'), text->size());
  std::string front = text->substr(0, end);
  text->erase(0, end + 1);
  return front;
}

}  // namespace

// What rank 0 runs, and on what, names the record for all ranks: it is rank 0 that looks for it in the next
// job.
void Job::find_left_out() {
  if (!options_.watches_crashes) return;
  const std::string& own_host = pool_->host_names()[static_cast<std::size_t>(world_rank_)];
  known_of_crash_ = {.place = {.mpi = host_.library_name(), .unisono = UNISONO_VERSION},
                     .host = own_host,
                     .rank = world_rank_,
                     .ranks = world_size_,
                     .id = own_host + ":" + std::to_string(::getpid()) + ":" + std::to_string(now_ns())};
  tuning::CrashPlace& place = known_of_crash_.place;
  std::string packed;
  if (world_rank_ == 0) {
    place.program = program_name();
    place.machine = tuning::machine_name();
    const std::string file = tuning::crash_file(tuning::cache_directory(options_.cache));
    tuning::ReadCrashes read = tuning::read_crashes(file);
    // That the whole cache is not used is said where tables are read.
    if (!read.problem.empty() && read.problem.rfind(file, 0) == 0) {
      warnings_.push_back("crash records: " + read.problem);
      log::warning(warnings_.back());
    }
    if (read.malformed != 0) {
      warnings_.push_back(std::to_string(read.malformed) + " lines of " + file +
                          " are ignored: they are no records");
      log::warning(warnings_.back());
    }
    std::erase_if(read.crashes, [&](const tuning::Crash& crash) { return crash.place != place; });
    packed = place.program + '\0' + place.machine + '\0' + known_of_crash_.id + '\0' +
             tuning::to_text(read.crashes);
  }
  packed = as_rank_0_has_it(std::move(packed));
  place.program = cut_front(&packed);
  place.machine = cut_front(&packed);
  known_of_crash_.job = cut_front(&packed);
  const std::vector<tuning::Crash> crashes = tuning::crashes_from(packed).crashes;
  left_out_ = tuning::left_out_by(crashes);
  if (world_rank_ != 0) return;
  for (const auto& [algorithm, why] : left_out_) {
    warnings_.push_back(std::string(name(algorithm->operation)) + ":" + algorithm->name +
                        " is quarantined: " + why +
                        " (`unisono crashes` shows it, with --forget it may be used again)");
    log::warning(warnings_.back());
  }
}

std::optional<CrashFacts> Job::crash_facts() const {
  if (!options_.watches_crashes || !is_enabled_) return std::nullopt;
  return CrashFacts{.file = tuning::crash_file(tuning::cache_directory(options_.cache)),
                    .known = known_of_crash_,
                    .is_said = options_.log != "quiet"};
}

}  // namespace unisono::runtime
