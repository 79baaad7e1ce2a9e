// SPDX-License-Identifier: BSD-3-Clause
// What people call the program that this process runs.
#pragma once

#include <string>
#include <vector>

namespace unisono {

// The base name of the executable; of Python with its script or module behind it ("python3.11 train.py"),
// since all Python programs have one executable.
std::string program_name();
std::string program_name(const std::string& executable, const std::vector<std::string>& words);

// The words that have started this process, its own name first; empty where /proc does not say.
std::vector<std::string> command_words();

}  // namespace unisono
