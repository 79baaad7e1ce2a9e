// SPDX-License-Identifier: BSD-3-Clause
// The options at the beginning of a launcher's command line, as the launcher understands them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "launch/flavours.h"

namespace unisono::launch {

inline constexpr std::string_view shim_name = "unisono-exec";
inline constexpr std::string_view separator = ":";  // between the sections of a job with several programs

// One option of the launcher as it stands in a command.
struct Option {
  std::string name;           // without dashes
  std::string value;          // its (first) value, empty if it has none
  std::size_t followers = 0;  // how many of the words behind it belong to it
  std::size_t position = 0;   // of its first word
};

std::vector<Option> options_of(const Flavour& flavour, std::span<const std::string> words);

// The user's own mark for 'the program follows'.
bool is_shim(std::string_view word);
// A file that could be started, or a program in PATH.
bool looks_like_program(const std::string& word);

}  // namespace unisono::launch
