// SPDX-License-Identifier: BSD-3-Clause
// Algorithms in which a signal has ended jobs of this program before (B9): rank 0 reads of them, and no rank
// uses them. And what this process leaves behind where it ends so.
#pragma once

#include "runtime/decisions/crash_watch.h"
#include "runtime/world/world.h"
#include "tuning/decisions/crash_records.h"

namespace unisono::runtime {

struct CrashesBefore {
  tuning::LeftOut left_out;  // the same on all ranks
  tuning::Crash own;         // what this process can say of a crash before it comes
};
// What rank 0 reads for all, and says at once what is wrong with it. Empty where nobody looks (option
// 'watch_crashes').
std::string read_crashes_before(const World& world);
// `read` by rank 0.
CrashesBefore crashes_before(const World& world, std::string read);

// What the crash watch is to know; nothing where nobody looks.
std::optional<CrashFacts> crash_facts(const World& world, const tuning::Crash& own);

}  // namespace unisono::runtime
