// SPDX-License-Identifier: BSD-3-Clause
// Matrix multiplication in mixed mode: processes, threads inside of them, and the cache inside of a thread.
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "options.h"
#include "product.h"

namespace {

constexpr int exit_passed = 0;
constexpr int exit_wrong = 1;
constexpr int exit_usage = 2;

using matmul::Choice;
using matmul::Outcome;

std::vector<Choice> all_choices() {
  std::vector<Choice> choices;
  for (const auto& distribution : matmul::distributions()) {
    for (const auto& sharing : matmul::thread_algorithms()) {
      for (const auto& cache : matmul::cache_algorithms())
        choices.push_back({&distribution, &sharing, &cache});
    }
  }
  return choices;
}

// From the worst choice on one layer after the other gets what was chosen.
std::vector<Choice> steps_to(const Choice& chosen) {
  const Choice plain{&matmul::distributions().back(), &matmul::thread_algorithms().front(),
                     &matmul::cache_algorithms().front()};
  std::vector<Choice> steps(4, plain);
  for (int i = 1; i < 4; ++i) steps[i].cache = chosen.cache;
  for (int i = 2; i < 4; ++i) steps[i].sharing = chosen.sharing;
  steps[3].distribution = chosen.distribution;
  return steps;
}

void print_head() {
  std::printf("%-12s %-18s %-20s %9s %9s %9s %9s  ms\n", "processes", "threads", "cache", "T_total", "T_comp",
              "T_comm", "T_penalty");
}

void print_outcome(const Outcome& outcome) {
  std::printf("%-12s %-18s %-20s %9.2f %9.2f %9.2f %9.2f\n", outcome.choice.distribution->name.data(),
              outcome.choice.sharing->name.data(), outcome.choice.cache->name.data(), outcome.total_s * 1e3,
              outcome.computation_s * 1e3, outcome.communication_s * 1e3, outcome.penalty_s * 1e3);
}

void print_gain(const std::vector<Outcome>& steps) {
  const double gain_s = steps.front().total_s - steps.back().total_s;
  std::printf("gained: %.2f of %.2f ms", gain_s * 1e3, steps.front().total_s * 1e3);
  const char* layers[] = {"cache", "threads", "processes"};
  for (int i = 0; i < 3; ++i) {
    const double own_s = steps[i].total_s - steps[i + 1].total_s;
    std::printf("%s %s %.2f ms", i == 0 ? ";" : ",", layers[i], own_s * 1e3);
    if (gain_s > 0) std::printf(" (%.0f %%)", 100 * own_s / gain_s);
  }
  std::printf("\n");
}

void write_json(const std::string& path, const matmul::Options& options, int ranks,
                const std::vector<Outcome>& outcomes) {
  std::ofstream file(path);
  file << "{\"program\": \"matmul\", \"ranks\": " << ranks << ", \"size\": " << options.size
       << ", \"threads\": " << options.threads << ", \"products\": [";
  for (const Outcome& outcome : outcomes) {
    file << (&outcome == outcomes.data() ? "" : ",") << "\n  {\"distribution\": \""
         << outcome.choice.distribution->name << "\", \"sharing\": \"" << outcome.choice.sharing->name
         << "\", \"cache\": \"" << outcome.choice.cache->name << "\", \"digest\": \"" << std::hex
         << outcome.digest << std::dec << "\", \"wrong\": " << outcome.wrong
         << ", \"total_s\": " << outcome.total_s << ", \"computation_s\": " << outcome.computation_s
         << ", \"communication_s\": " << outcome.communication_s << ", \"penalty_s\": " << outcome.penalty_s
         << "}";
  }
  file << "\n]}\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int run(const matmul::Options& options, int rank, int ranks) {
  if (options.is_help_wanted) {
    if (rank == 0) std::fputs(matmul::help_text().c_str(), stdout);
    return exit_passed;
  }
  matmul::Problem problem(options, MPI_COMM_WORLD);
  const bool is_speaking = rank == 0 && !options.is_quiet;
  std::vector<Choice> choices{options.choice};
  if (options.is_gain_wanted) choices = steps_to(options.choice);
  if (options.is_all_wanted) choices = all_choices();
  if (is_speaking) {
    std::printf("matmul: %d rows, %d x %d processes of %d threads\n", options.size, problem.grid().rows(),
                problem.grid().columns(), options.threads);
    print_head();
  }
  std::vector<Outcome> outcomes;
  bool is_right = true;
  for (const Choice& choice : choices) {
    outcomes.push_back(problem.multiply(choice));
    if (is_speaking) print_outcome(outcomes.back());
    if (outcomes.back().wrong == 0) continue;
    is_right = false;
    if (rank == 0) {
      std::fprintf(stderr, "matmul: %lld elements of %s, %s, %s are wrong\n",
                   static_cast<long long>(outcomes.back().wrong), choice.distribution->name.data(),
                   choice.sharing->name.data(), choice.cache->name.data());
    }
  }
  if (is_speaking && options.is_gain_wanted && !options.is_all_wanted) print_gain(outcomes);
  if (rank == 0 && !options.json_path.empty()) write_json(options.json_path, options, ranks, outcomes);
  return is_right ? exit_passed : exit_wrong;
}

}  // namespace

int main(int argument_count, char** arguments) {
  // Only the thread that began calls MPI; the others multiply.
  int provided = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int code = exit_passed;
  try {
    code = run(matmul::parse_options(argument_count, arguments), rank, ranks);
  } catch (const std::invalid_argument& error) {
    if (rank == 0) std::fprintf(stderr, "matmul: %s\n", error.what());
    code = exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "matmul: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_usage);
  }
  MPI_Finalize();
  return code;
}
