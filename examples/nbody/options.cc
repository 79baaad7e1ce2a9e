// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace nbody {
namespace {

template <typename Number>
Number parse_number(std::string_view name, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(std::string(name) + ": '" + std::string(text) +
                                "' is not a number it can take");
  }
  return value;
}

void require(bool is_fulfilled, const char* sentence) {
  if (!is_fulfilled) throw std::invalid_argument(sentence);
}

void validate(const Options& options) {
  require(options.bodies >= 2, "--bodies: at least 2");
  require(options.steps >= 1, "--steps: at least 1");
  require(options.diagnostics_every >= 1, "--diagnostics-every: at least 1");
  require(std::isfinite(options.accuracy) && options.accuracy > 0, "--accuracy: above 0");
  require(std::isfinite(options.fixed_step) && options.fixed_step >= 0, "--fixed-step: not below 0");
  require(std::isfinite(options.softening) && options.softening > 0, "--softening: above 0");
}

}  // namespace

std::string help_text() {
  const Options defaults;
  const auto number = [](auto value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
  };
  return "usage: nbody [options]        (under mpirun)\n"
         "\n"
         "A star cluster (Plummer sphere, N-body units) under its own gravity, by direct summation and the "
         "leapfrog.\n"
         "Each step gathers all positions (MPI_Allgather) and agrees on a time step (MPI_Allreduce); every "
         "few\n"
         "steps energy, momentum and angular momentum are summed (MPI_Allreduce).\n"
         "\n"
         "  --bodies N             bodies in all (" +
         number(defaults.bodies) +
         ")\n"
         "  --steps N              time steps (" +
         number(defaults.steps) +
         ")\n"
         "  --accuracy ETA         time step = ETA * sqrt(softening / largest acceleration) (" +
         number(defaults.accuracy) +
         ")\n"
         "  --fixed-step T         this time step always, instead of --accuracy\n"
         "  --softening LENGTH     Plummer softening of the force (" +
         number(defaults.softening) +
         ")\n"
         "  --diagnostics-every N  steps between two sums of the conserved quantities (" +
         number(defaults.diagnostics_every) +
         ")\n"
         "  --seed N               another cluster (" +
         number(defaults.seed) +
         ")\n"
         "  --json FILE            also write the result for programs to read\n"
         "  --quiet                print only failed checks\n"
         "  --help                 this text\n"
         "\n"
         "exit code: 0 all checks passed, 1 a check of the physics failed, 2 wrong usage\n";
}

Options parse_options(int argument_count, char** arguments) {
  Options options;
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view name = arguments[i];
    const auto next = [&]() -> std::string_view {
      if (i + 1 >= argument_count) throw std::invalid_argument(std::string(name) + ": a value must follow");
      return arguments[++i];
    };
    if (name == "--help" || name == "-h") {
      options.is_help_wanted = true;
    } else if (name == "--quiet") {
      options.is_quiet = true;
    } else if (name == "--json") {
      options.json_path = next();
    } else if (name == "--bodies") {
      options.bodies = parse_number<int>(name, next());
    } else if (name == "--steps") {
      options.steps = parse_number<int>(name, next());
    } else if (name == "--accuracy") {
      options.accuracy = parse_number<double>(name, next());
    } else if (name == "--fixed-step") {
      options.fixed_step = parse_number<double>(name, next());
    } else if (name == "--softening") {
      options.softening = parse_number<double>(name, next());
    } else if (name == "--diagnostics-every") {
      options.diagnostics_every = parse_number<int>(name, next());
    } else if (name == "--seed") {
      options.seed = parse_number<std::uint64_t>(name, next());
    } else {
      throw std::invalid_argument("unknown option '" + std::string(name) + "'; --help names them all");
    }
  }
  validate(options);
  return options;
}

}  // namespace nbody
