// SPDX-License-Identifier: BSD-3-Clause
// What launchers have said of themselves, kept in the user's cache directory: to ask one takes as long as to
// start one.
#pragma once

#include <optional>
#include <string>

#include "launch/detect.h"

namespace unisono::launch {

class Remembered {
 public:
  // Of the program at `path`. `cache`: empty where nothing is to be kept. What a script says may depend on
  // anything: only of Intel's, which starts the mpiexec.hydra of PATH, it is known on what.
  Remembered(const std::string& path, const std::string& cache);

  // What is remembered of the very same file; a damaged entry, or one that others may write, is none.
  std::optional<Version> version() const;
  void keep(const Version& version) const;

 private:
  std::string cache_, name_, identity_;
};

}  // namespace unisono::launch
