// SPDX-License-Identifier: BSD-3-Clause
// The command line of `unisono run`, as far as it is Unisono's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "launch/run_options.h"
#include "launch/words.h"

namespace unisono::front {

// An option of the library that was given, with all that was given for it.
struct Given {
  const OptionSpec* spec;
  std::string word;  // as it was typed: "--report"
  std::vector<std::string> values;
};

struct RunLine {
  std::vector<Given> given;
  std::string config;
  std::string lead;  // what the user has typed instead of `unisono run` and its options; empty: nothing else
  bool is_dry_run = false, is_verbose = false, wants_help = false;
  launch::Words command;
};

RunLine parse_run_line(const launch::Words& words);

// An option of `unisono run` that a word names by its whole name.
struct RunOption {
  std::string variable;  // that says the same; empty: none does
  std::string value;     // which the word has, or means
  bool wants_next;       // the next word is the value
};
std::optional<RunOption> run_option(const std::string& word);

// One text of all that was given for an option, as it was typed.
std::string typed_value(const Given& given);
// What the ranks get: files are named such that they are found from any directory.
std::string value_for_ranks(const Given& given);

}  // namespace unisono::front
