// SPDX-License-Identifier: BSD-3-Clause
// Puts the exec shim before every program of a command.
//
// Settings travel as the shim's own arguments. Launchers differ in how they hand environment variables to
// other nodes (-x, -genv, --export), but all of them start the program's command line as it is given.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/detect.h"
#include "launch/words.h"

namespace unisono::launch {

using Settings = std::vector<std::pair<std::string, std::string>>;  // variables and their values

// The shim as it goes before a program: where it is, what it sets there, and what every host must have.
struct Shim {
  std::string path;
  std::string library;
  Settings settings;
  Words adapters;  // families, as in libunisono-FAMILY.so

  Words words() const;
};

// A command as it was understood.
struct Understood {
  std::optional<Launcher> launcher;
  std::size_t position = 0;  // of the launcher
  Words words;               // with the shim
  Words programs;            // as the shim will find them; none where the user has marked them himself
  std::string explanation;
};

struct FoundLauncher {
  Launcher launcher;
  std::size_t position = 0;
};
// `cache`: as identify() takes it.
std::optional<FoundLauncher> launcher_of(const Words& command, const std::string& cache);
// `launcher`: that of the command, if it has one.
Understood rewrite(const Words& command, const Shim& shim, const std::optional<FoundLauncher>& launcher);

}  // namespace unisono::launch
