// SPDX-License-Identifier: BSD-3-Clause
// The run: kick-drift-kick leapfrog with a global time step, and the checks of its own physics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives.h"
#include "options.h"

namespace nbody {

// Passed if value <= limit, so not when value is no number.
struct Check {
  std::string name;
  double value = 0.0;
  double limit = 0.0;
  bool is_passed() const { return value <= limit; }
};

// What another run must reproduce: a number within `tolerance` (absolute). The trajectory itself does not
// depend on the order of any reduction (minimum and gathering are exact), only the sums do.
struct Quantity {
  std::string name;
  double value = 0.0;
  double tolerance = 0.0;
};

struct Outcome {
  double simulated_time = 0.0;
  std::vector<Quantity> quantities;
  std::uint64_t position_digest = 0;  // of all positions' bits at the end
  std::vector<Check> checks;
  double elapsed_s = 0.0;  // from the initial bodies to the last sum, which all ranks wait for
};

Outcome simulate(const Options& options, Collectives& collectives);

}  // namespace nbody
