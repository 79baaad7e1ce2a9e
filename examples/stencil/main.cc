// SPDX-License-Identifier: BSD-3-Clause
// A field smoothed on a grid of blocks, one for each process: halos by neighbourhood collectives.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "exchange.h"
#include "neighbors.h"
#include "options.h"
#include "smoothing.h"

namespace {

using namespace stencil;

constexpr int exit_passed = 0;
constexpr int exit_wrong = 1;
constexpr int exit_usage = 2;

// Of one way to exchange: seconds are means over the steps, of the slowest rank.
struct Outcome {
  Topology topology;
  Operation operation;
  Call call;
  int most_neighbors;
  double step_s;
  double exchange_s;
  long long wrong;
  unsigned long long digest;
};

// Slices of `box` in which some dimension is at most `rim` from the border, and what is left of it.
std::vector<Box> slices(Box& box, int rim, int dimensions) {
  std::vector<Box> cut;
  for (int d = 0; d < dimensions; ++d) {
    Box before = box, behind = box;
    before.high[d] = std::min(box.low[d] + rim, box.high[d]);
    behind.low[d] = std::max(before.high[d], box.high[d] - rim);
    cut.push_back(before);
    cut.push_back(behind);
    box.low[d] = before.high[d];
    box.high[d] = behind.low[d];
  }
  return cut;
}

class Run {
 public:
  Run(const Options& options, const Vector& grid) : options_(options), grid_(grid) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    for (int d = 0; d < options.dimensions; ++d) sides_[d] = options.cells;
    const Vector place = place_in_grid(rank_, grid, options.dimensions);
    for (int d = 0; d < options.dimensions; ++d) corner_[d] = place[d] * options.cells;
  }

  Outcome operator()(Topology topology, Operation operation, Call call) {
    make_fields();
    const Neighbors neighbors(options_, grid_, topology, MPI_COMM_WORLD);
    Exchange exchange(options_, neighbors, operation, call, fields_);
    const std::vector<Vector> steps = seen(options_, topology);
    Box middle = fields_[0].inside();
    const std::vector<Box> rim = slices(middle, options_.radius, options_.dimensions);
    Outcome outcome{topology, operation, call, static_cast<int>(neighbors.in().size()), 0.0, 0.0, 0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int step = 0; step < options_.steps; ++step) {
      const int now = step % 2;
      Field &from = fields_[now], &to = fields_[1 - now];
      const double start = MPI_Wtime();
      exchange.start(now);
      const double between = MPI_Wtime();
      smooth(from, to, middle, steps, options_.dimensions);
      const double again = MPI_Wtime();
      exchange.finish(now);
      outcome.exchange_s += between - start + MPI_Wtime() - again;
      for (const Box& slice : rim) smooth(from, to, slice, steps, options_.dimensions);
    }
    outcome.step_s = (MPI_Wtime() - begin) / options_.steps;
    outcome.exchange_s /= options_.steps;
    for (double* seconds : {&outcome.step_s, &outcome.exchange_s}) {
      MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Allreduce(MPI_IN_PLACE, &outcome.most_neighbors, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    compare(outcome);
    return outcome;
  }

 private:
  void make_fields() {
    fields_.fill(Field(options_.dimensions, sides_, options_.radius));
    const int last = options_.dimensions - 1;
    for_each_row(fields_[0].inside(), options_.dimensions, [&](Vector place, int length) {
      for (int i = 0; i < length; ++i, ++place[last]) fields_[0][place] = first_value(in_grid(place));
    });
  }

  Vector in_grid(Vector place) const {
    for (int d = 0; d < options_.dimensions; ++d) place[d] += corner_[d];
    return place;
  }

  // Rank 0 gets all blocks, and compares them with the whole grid.
  void compare(Outcome& outcome) {
    Field& field = fields_[options_.steps % 2];
    const auto cells = static_cast<std::size_t>(field.inside().cells());
    std::vector<double> own, all(rank_ == 0 ? cells * ranks_ : 0);
    for_each_row(field.inside(), options_.dimensions, [&](const Vector& place, int length) {
      const double* row = field.data() + field.at(place);
      own.insert(own.end(), row, row + length);
    });
    MPI_Gather(own.data(), static_cast<int>(cells), MPI_DOUBLE, all.data(), static_cast<int>(cells),
               MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank_ == 0) {
      if (expected_of_ != static_cast<int>(outcome.topology)) {
        expected_ = smoothed_alone(options_, grid_, outcome.topology);
        expected_of_ = static_cast<int>(outcome.topology);
      }
      const double* next = all.data();
      for (int rank = 0; rank < ranks_; ++rank) next = compare_block(outcome, rank, next);
    }
    MPI_Bcast(&outcome.wrong, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  }

  const double* compare_block(Outcome& outcome, int rank, const double* next) {
    const int last = options_.dimensions - 1;
    const Vector block = place_in_grid(rank, grid_, options_.dimensions);
    for_each_row(fields_[0].inside(), options_.dimensions, [&](Vector place, int length) {
      for (int d = 0; d <= last; ++d) place[d] += block[d] * options_.cells;
      for (int i = 0; i < length; ++i, ++place[last], ++next) {
        outcome.wrong += *next != expected_[place];
        const auto bits = std::bit_cast<std::uint64_t>(*next);
        outcome.digest += (bits ^ (bits >> 29)) * (2 * static_cast<std::uint64_t>(expected_.at(place)) + 1);
      }
    });
    return next;
  }

  const Options& options_;
  const Vector& grid_;
  int rank_ = 0;
  int ranks_ = 1;
  Vector sides_{};   // of a block
  Vector corner_{};  // of the own block, in the whole grid
  std::array<Field, 2> fields_;
  Field expected_;  // on rank 0
  int expected_of_ = -1;
};

std::string grid_text(const Vector& grid, int dimensions) {
  std::string text;
  for (int d = 0; d < dimensions; ++d) text += (d > 0 ? "x" : "") + std::to_string(grid[d]);
  return text;
}

Vector agreed_grid(const Options& options, int ranks) {
  Vector grid = options.grid;
  if (!options.is_grid_given) {
    MPI_Dims_create(ranks, options.dimensions, grid.data());
    return grid;
  }
  long long blocks = 1;
  for (int d = 0; d < options.dimensions; ++d) blocks *= grid[d];
  if (blocks != ranks) {
    throw std::invalid_argument("--grid: " + grid_text(grid, options.dimensions) + " has " +
                                std::to_string(blocks) + " blocks, and there are " + std::to_string(ranks) +
                                " ranks");
  }
  return grid;
}

void print_outcome(const Outcome& outcome) {
  std::printf("%-10s %-11s %-12s %10d %12.2f %12.2f\n", name_of(topologies(), outcome.topology).data(),
              name_of(operations(), outcome.operation).data(), name_of(calls(), outcome.call).data(),
              outcome.most_neighbors, outcome.step_s * 1e6, outcome.exchange_s * 1e6);
}

void complain(const Outcome& outcome) {
  std::fprintf(stderr, "stencil: %lld cells are wrong: %s, %s, %s\n", outcome.wrong,
               name_of(topologies(), outcome.topology).data(),
               name_of(operations(), outcome.operation).data(), name_of(calls(), outcome.call).data());
}

// Whether blocks are neighbours on two sides at once.
bool has_double_edges(const Options& options, const Vector& grid) {
  const int reach = (options.radius + options.cells - 1) / options.cells;
  return options.is_periodic && std::any_of(grid.begin(), grid.begin() + options.dimensions,
                                            [&](int side) { return side <= 2 * reach; });
}

void write_json(const std::string& path, const Options& options, int ranks,
                const std::vector<Outcome>& outcomes) {
  std::ofstream file(path);
  file << "{\"program\": \"stencil\", \"ranks\": " << ranks << ", \"cells\": " << options.cells
       << ", \"radius\": " << options.radius << ", \"steps\": " << options.steps << ", \"runs\": [";
  for (const Outcome& outcome : outcomes) {
    file << (&outcome == outcomes.data() ? "" : ",") << "\n  {\"topology\": \""
         << name_of(topologies(), outcome.topology) << "\", \"operation\": \""
         << name_of(operations(), outcome.operation) << "\", \"call\": \"" << name_of(calls(), outcome.call)
         << "\", \"neighbors\": " << outcome.most_neighbors << ", \"wrong\": " << outcome.wrong
         << ", \"digest\": \"" << std::hex << outcome.digest << std::dec
         << "\", \"step_s\": " << outcome.step_s << ", \"exchange_s\": " << outcome.exchange_s << "}";
  }
  file << "\n]}\n";
  if (!file.flush()) throw std::runtime_error(path + ": the file cannot be written");
}

int run(const Options& options, int rank, int ranks) {
  if (options.is_help_wanted) {
    if (rank == 0) std::fputs(help_text().c_str(), stdout);
    return exit_passed;
  }
  if (!has_persistent_calls() && options.calls == std::vector{Call::persistent}) {
    throw std::invalid_argument(
        "--call persistent: this MPI has no persistent collectives, which came with MPI 4");
  }
  const Vector grid = agreed_grid(options, ranks);
  const bool is_speaking = rank == 0 && !options.is_quiet;
  if (is_speaking) {
    std::printf("stencil: %s blocks of %d cells a side, radius %d, %d steps, %s\n",
                grid_text(grid, options.dimensions).c_str(), options.cells, options.radius, options.steps,
                options.is_periodic ? "periodic" : "open");
    std::printf("%-10s %-11s %-12s %10s %12s %12s\n", "topology", "operation", "call", "neighbours",
                "us a step", "exchange us");
  }
  Run runs(options, grid);
  std::vector<Outcome> outcomes;
  bool is_right = true;
  for (Topology topology : options.topologies) {
    for (Operation operation : options.operations) {
      for (Call call : options.calls) {
        if (call == Call::persistent && !has_persistent_calls()) continue;
        outcomes.push_back(runs(topology, operation, call));
        if (is_speaking) print_outcome(outcomes.back());
        if (outcomes.back().wrong == 0) continue;
        is_right = false;
        if (rank == 0) complain(outcomes.back());
      }
    }
  }
  if (rank == 0 && !is_right && has_double_edges(options, grid)) {
    std::fprintf(stderr,
                 "stencil: this grid is periodic and so small that two processes have several edges between "
                 "them, which some MPIs mix up\n");
  }
  if (rank == 0 && !options.json_path.empty()) write_json(options.json_path, options, ranks, outcomes);
  return is_right ? exit_passed : exit_wrong;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0, ranks = 1, code = exit_passed;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    code = run(parse_options(argument_count, arguments), rank, ranks);
  } catch (const std::invalid_argument& error) {
    // All ranks are here.
    if (rank == 0) std::fprintf(stderr, "stencil: %s\n", error.what());
    code = exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stencil: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_usage);
  }
  MPI_Finalize();
  return code;
}
