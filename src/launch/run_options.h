// SPDX-License-Identifier: BSD-3-Clause
// `unisono run` as it is described: by its help, the manual and completions. What the library itself takes
// stands in base/options.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"

namespace unisono::launch {

// An option of `run` that is none of the library's.
struct OwnOption {
  std::string_view name;   // without dashes
  char letter;             // 0: none
  std::string_view value;  // what stands for its value in the help; empty: it takes none
  std::string_view help;
};
const std::vector<OwnOption>& own_options();

// The library's options that most people need; with those above but --help they are eight.
std::span<const std::string_view> everyday_options();
// "--pool-bytes" of an option, and "--no-..." of one that is on or off.
std::string option_word(const OptionSpec& spec);

// How the command is used, and what it does.
std::string_view run_usage();
std::string_view run_description();

}  // namespace unisono::launch
