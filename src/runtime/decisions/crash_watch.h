// SPDX-License-Identifier: BSD-3-Clause
// Says in which algorithm a signal ends this process, and leaves a record for later jobs (B9). The handler
// does what a signal's handler may do, and then what would have been done without it. docs/guide/verify.md.
#pragma once

#include <string>

#include "tuning/decisions/crash_records.h"

namespace unisono::runtime {

struct CrashFacts {
  std::string file;     // to which the record goes; empty: to none
  tuning::Crash known;  // what of it is known before
  bool is_said = true;  // on standard error as well
};

// From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT pass by here, but for those that are ignored.
void begin_crash_watch(const CrashFacts& facts);
// Puts back what stood there before, where nobody has put something else there since.
void end_crash_watch();

}  // namespace unisono::runtime
