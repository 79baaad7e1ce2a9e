// SPDX-License-Identifier: BSD-3-Clause
// Words of a command line: their file names, and how a shell would have to be given them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unisono::launch {

using Words = std::vector<std::string>;

// What follows the last slash.
std::string_view base_name(std::string_view path);
// With blanks between them.
std::string joined(const Words& words, std::string_view between = " ");
// As a shell takes them: quoted where need be.
std::string quoted(const Words& words);

// The program that a word starts, as execvp finds it: in `search` or PATH where it has no slash. Empty: none.
std::string find_program(const std::string& word, const char* search = nullptr);
bool is_executable(const std::string& path);  // a file that the user may start
std::string absolute(const std::string& path);

}  // namespace unisono::launch
