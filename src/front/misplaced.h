// SPDX-License-Identifier: BSD-3-Clause
// Options of `unisono run` that stand behind the launcher, which does not know them.
#pragma once

#include <string>

#include "launch/rewrite.h"
#include "launch/words.h"

namespace unisono::front {

// What stands before the command in what the user has typed.
struct Lead {
  std::string text;
  bool takes_options;  // it is `unisono run`; the other commands hear of options by variables
};

// Ends the command where there is one, with the command that was meant. What a launcher of the same name
// takes is left to it, and so are all where the user has marked the programs.
void require_no_own_option(const Lead& lead, const launch::Words& command,
                           const launch::FoundLauncher& launcher);

}  // namespace unisono::front
