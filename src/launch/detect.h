// SPDX-License-Identifier: BSD-3-Clause
// Which launcher a command starts with, by its name and by what it says to `--version`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/flavours.h"
#include "launch/words.h"

namespace unisono::launch {

// A launcher as found on this machine.
struct Launcher {
  std::string path;
  const Flavour* flavour = nullptr;
  std::string version;

  std::string title() const;  // "Open MPI 5.0.11"
};

// mpirun, mpiexec.hydra, mpirun.openmpi ...; not scripts around them.
bool is_launcher_name(std::string_view word);
// One whose command line is not known here.
bool is_foreign_launcher(std::string_view word);
// Where the launcher stands in a command: at its beginning, or behind `env`, `timeout` and their like.
std::optional<std::size_t> launcher_position(const Words& command);

// The launcher that `word` starts. `cache`: the user's folder, where is remembered what launchers have said;
// empty: nowhere.
Launcher identify(const std::string& word, const std::string& cache);

struct Version {
  const Flavour* flavour;
  std::string number;
};
// From what a launcher prints for `--version`.
Version parse_version(std::string_view text);

}  // namespace unisono::launch
