// SPDX-License-Identifier: BSD-3-Clause
// Runs the launcher. Where nothing is left to do after the job, it takes our place: then signals, exit
// status, terminal and process tree are exactly those of a run without Unisono. Otherwise we wait beside it,
// hand on what we are sent, and end as it ended.
#pragma once

#include "front/companion.h"
#include "launch/words.h"

namespace unisono::front {

// Becomes the command. Throws where that cannot be started.
[[noreturn]] void replace(const launch::Words& words);

struct Outcome {
  int status;    // the command's; 128 + n if signal n killed it
  int killed;    // by that signal; or 0
  int received;  // the last signal that was handed on; or 0
};
// Runs the command to its end, and then `beside`, which may be null, to its own. Throws where the command
// cannot be started.
Outcome supervise(const launch::Words& words, Companion* beside = nullptr);

// Runs a program of ours to its end; its standard output goes to descriptor `output`. Its exit status; -1: it
// could not be started, or died.
int run_beside(const launch::Words& words, int output);

}  // namespace unisono::front
