// SPDX-License-Identifier: BSD-3-Clause
// What the user can set, and the help text that says so.
#pragma once

#include <cstdint>
#include <string>

namespace nbody {

struct Options {
  int bodies = 128;
  int steps = 40000;
  double accuracy = 0.01;      // eta: the time step is eta * sqrt(softening / largest acceleration)
  double fixed_step = 0.0;     // above 0: this time step always, no agreement needed
  double softening = 0.05;     // in N-body units, where the virial radius is 1
  int diagnostics_every = 10;  // steps between two sums of energy and momentum
  std::uint64_t seed = 1;
  std::string json_path;  // empty: no machine-readable result
  bool is_quiet = false;
  bool is_help_wanted = false;
};

std::string help_text();

// Throws std::invalid_argument with a sentence for the user.
Options parse_options(int argument_count, char** arguments);

}  // namespace nbody
