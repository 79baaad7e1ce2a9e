// SPDX-License-Identifier: BSD-3-Clause
// Reports of jobs that the job's program has spawned, beside its own.
#pragma once

#include <string>
#include <vector>

namespace unisono::front {

struct SpawnedReport {
  std::string name;  // "0.2": the second spawn of rank 0
  std::string file;
};

// Beside the report `file`, by name.
std::vector<SpawnedReport> reports_of_spawned(const std::string& file);

}  // namespace unisono::front
