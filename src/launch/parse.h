// SPDX-License-Identifier: BSD-3-Clause
// Finds the programs in a launcher's command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/flavours.h"
#include "launch/launcher_options.h"
#include "launch/words.h"

namespace unisono::launch {

// How a user says where the programs are, as a sentence.
std::string mark_hint();

// One program of a job: the launcher's options for it, and its own command.
struct Section {
  Words options;
  Words program;
  // The values of single options that matter later, by the option's name without dashes.
  std::map<std::string, std::string> values;
};

// The sections of the words behind the launcher's name.
std::vector<Section> sections_of(const Flavour& flavour, const Words& words);

}  // namespace unisono::launch
