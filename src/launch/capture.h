// SPDX-License-Identifier: BSD-3-Clause
// What a program says.
#pragma once

#include <chrono>
#include <string>

#include "launch/words.h"

namespace unisono::launch {

struct Answer {
  int status = -1;  // as waitpid has it; -1: it could not be started, or was not waited for
  std::string output, errors;
};

// Runs it to its end, with nothing to read; at most so long.
Answer answer_of(const Words& words, std::chrono::milliseconds most);

}  // namespace unisono::launch
