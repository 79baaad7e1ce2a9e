// SPDX-License-Identifier: BSD-3-Clause
#include "simulation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "cluster.h"
#include "gravity.h"

namespace nbody {
namespace {

// Each limit is some ten times what the default run shows; a step that is too long by a factor of some ten
// breaks the first.
constexpr double energy_drift_limit = 1e-4;       // relative
constexpr double momentum_limit = 1e-11;          // absolute; |v| is about 1
constexpr double angular_momentum_limit = 1e-10;  // absolute
constexpr double virial_limit = 0.1;              // of the mean of 2T / virial over the run, from 1
constexpr double sum_tolerance = 1e-12;  // nine sums of terms below 1: rounding of any order stays far below

double distance(std::span<const double, 3> a, std::span<const double, 3> b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// The largest deviation seen so far; once a value is no number, it stays so.
void keep_largest(double& largest, double value) {
  if (!(value <= largest)) largest = value;
}

std::uint64_t digest(std::span<const double> values) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, over words
  for (const double value : values) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3u;
  return hash;
}

// Ranks hold blocks of equal length, so that MPI_Allgather can carry them. The last ranks may hold fewer
// bodies or none. What they gather beyond the last body is never read.
class Simulation {
 public:
  Simulation(const Options& options, Collectives& collectives)
      : options_(options),
        collectives_(collectives),
        block_((options.bodies + collectives.size() - 1) / collectives.size()),
        bodies_(options.bodies, std::min(options.bodies, collectives.rank() * block_),
                std::min(options.bodies, (collectives.rank() + 1) * block_)),
        own_positions_(3 * static_cast<std::size_t>(block_)),
        all_positions_(own_positions_.size() * static_cast<std::size_t>(collectives.size())) {}

  Outcome run();

 private:
  void start();
  void update_accelerations();
  double next_step();
  Sums total_sums();
  void diagnose();

  const Options& options_;
  Collectives& collectives_;
  int block_;
  LocalBodies bodies_;
  std::vector<double> own_positions_;
  std::vector<double> all_positions_;
  Sums initial_, latest_;
  double energy_drift_ = 0.0;
  double momentum_drift_ = 0.0;
  double angular_momentum_drift_ = 0.0;
  double virial_ratio_sum_ = 0.0;
  int diagnoses_ = 0;
};

void Simulation::start() {
  Cluster cluster;
  if (collectives_.rank() == 0) {
    cluster = make_plummer_cluster(options_.bodies, options_.softening, options_.seed);
  } else {
    cluster.positions.resize(3 * static_cast<std::size_t>(options_.bodies));
    cluster.velocities.resize(cluster.positions.size());
  }
  collectives_.broadcast_bodies(cluster.positions);
  collectives_.broadcast_bodies(cluster.velocities);
  bodies_.take(cluster.positions, cluster.velocities);
  update_accelerations();
  initial_ = total_sums();
}

void Simulation::update_accelerations() {
  bodies_.write_positions(own_positions_);
  collectives_.gather_positions(own_positions_, all_positions_);
  bodies_.accelerate(all_positions_, options_.softening);
}

double Simulation::next_step() {
  if (options_.fixed_step > 0) return options_.fixed_step;
  const double acceleration = bodies_.largest_acceleration();
  const double own_limit = acceleration > 0 ? options_.accuracy * std::sqrt(options_.softening / acceleration)
                                            : std::numeric_limits<double>::max();
  return collectives_.agree_on_smallest(own_limit);
}

Sums Simulation::total_sums() {
  Sums sums = bodies_.sums();
  collectives_.sum_over_ranks(sums.values());
  return sums;
}

void Simulation::diagnose() {
  latest_ = total_sums();
  keep_largest(energy_drift_, std::abs((latest_.energy() - initial_.energy()) / initial_.energy()));
  keep_largest(momentum_drift_, distance(latest_.momentum(), initial_.momentum()));
  keep_largest(angular_momentum_drift_, distance(latest_.angular_momentum(), initial_.angular_momentum()));
  virial_ratio_sum_ += latest_.virial_ratio();
  ++diagnoses_;
}

Outcome Simulation::run() {
  collectives_.barrier();
  const double start_s = MPI_Wtime();
  start();
  Outcome outcome;
  for (int step = 1; step <= options_.steps; ++step) {
    const double time = next_step();
    bodies_.kick(0.5 * time);
    bodies_.drift(time);
    update_accelerations();
    bodies_.kick(0.5 * time);
    outcome.simulated_time += time;
    if (step % options_.diagnostics_every == 0 || step == options_.steps) diagnose();
  }
  outcome.elapsed_s = MPI_Wtime() - start_s;
  const double virial_ratio = virial_ratio_sum_ / diagnoses_;
  outcome.position_digest =
      digest(std::span(all_positions_).first(3 * static_cast<std::size_t>(options_.bodies)));
  outcome.quantities = {{"simulated time", outcome.simulated_time, 0.0},
                        {"kinetic energy", latest_.kinetic_energy(), sum_tolerance},
                        {"potential energy", latest_.potential_energy(), sum_tolerance},
                        {"total energy", latest_.energy(), sum_tolerance},
                        {"angular momentum z", latest_.angular_momentum()[2], sum_tolerance},
                        {"mean virial ratio", virial_ratio, sum_tolerance}};
  outcome.checks = {{"energy drift (relative)", energy_drift_, energy_drift_limit},
                    {"momentum drift", momentum_drift_, momentum_limit},
                    {"angular momentum drift", angular_momentum_drift_, angular_momentum_limit},
                    {"virial ratio, distance from 1", std::abs(virial_ratio - 1.0), virial_limit}};
  return outcome;
}

}  // namespace

Outcome simulate(const Options& options, Collectives& collectives) {
  return Simulation(options, collectives).run();
}

}  // namespace nbody
