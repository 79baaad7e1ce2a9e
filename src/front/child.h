// SPDX-License-Identifier: BSD-3-Clause
// Processes that this command starts, and that end with it.
#pragma once

#include <csignal>
#include <vector>

#include "launch/words.h"

namespace unisono::front {

struct ChildSettings {
  sigset_t signals;             // that are blocked there
  int input = -1, output = -1;  // what it reads, and where it writes; -1: as this command
  bool is_apart = false;        // what the terminal sends does not reach it
};

struct Child {
  pid_t process;
  int failure;  // an errno value: it could not be started
};

// The child ends with us: if we are killed outright, the job must not live on without anybody who could end
// it.
Child start(const launch::Words& words, const ChildSettings& settings);

// As exec takes them; they live as long as the words.
std::vector<char*> pointers_to(const launch::Words& words);

}  // namespace unisono::front
