// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "collectives.h"
#include "options.h"
#include "result.h"
#include "simulation.h"

namespace {

constexpr int exit_passed = 0;
constexpr int exit_check_failed = 1;
constexpr int exit_usage = 2;

void print_failed_checks(const nbody::Outcome& outcome) {
  for (const nbody::Check& check : outcome.checks) {
    if (check.is_passed()) continue;
    std::fprintf(stderr, "nbody: check failed: %s is %.3e, limit %.0e\n", check.name.c_str(), check.value,
                 check.limit);
  }
}

int run(const nbody::Options& options) {
  nbody::Collectives collectives(MPI_COMM_WORLD);
  const bool is_first_rank = collectives.rank() == 0;
  if (options.is_help_wanted) {
    if (is_first_rank) std::fputs(nbody::help_text().c_str(), stdout);
    return exit_passed;
  }
  const nbody::Outcome outcome = nbody::simulate(options, collectives);
  const auto times = collectives.longest_times();
  if (is_first_rank) {
    if (!options.is_quiet)
      std::fputs(result_text(options, collectives.size(), outcome, times).c_str(), stdout);
    if (!options.json_path.empty()) {
      nbody::write_file(options.json_path, result_json(options, collectives.size(), outcome, times));
    }
    print_failed_checks(outcome);
  }
  // The sums are the same on all ranks, so all end with the same code.
  return std::ranges::all_of(outcome.checks, &nbody::Check::is_passed) ? exit_passed : exit_check_failed;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = exit_passed;
  try {
    code = run(nbody::parse_options(argument_count, arguments));
  } catch (const std::invalid_argument& error) {
    if (rank == 0) std::fprintf(stderr, "nbody: %s\n", error.what());
    code = exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nbody: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_usage);
  }
  MPI_Finalize();
  return code;
}
