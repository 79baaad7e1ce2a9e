// SPDX-License-Identifier: BSD-3-Clause
// The result as text for people and as JSON for programs (examples/README.md describes the fields).
#pragma once

#include <string>

#include "collectives.h"
#include "options.h"
#include "simulation.h"

namespace nbody {

std::string result_text(const Options& options, int ranks, const Outcome& outcome,
                        const CollectiveTimes& times);
std::string result_json(const Options& options, int ranks, const Outcome& outcome,
                        const CollectiveTimes& times);

// Written whole and renamed. Throws std::system_error.
void write_file(const std::string& path, const std::string& content);

}  // namespace nbody
