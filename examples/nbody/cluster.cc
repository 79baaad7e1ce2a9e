// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.h"

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "gravity.h"

namespace nbody {
namespace {

constexpr double cutoff_radius = 10.0;  // in Plummer radii; beyond it lies 1.5 % of the mass
constexpr double length_unit = 3.0 * std::numbers::pi / 16.0;

// The standard fixes the engine's numbers, but not those of its distributions.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : engine_(seed) {}
  double operator()() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

std::array<double, 3> isotropic(Uniform& uniform, double length) {
  const double z = 2.0 * uniform() - 1.0;
  const double angle = 2.0 * std::numbers::pi * uniform();
  const double planar = std::sqrt(1.0 - z * z);
  return {length * planar * std::cos(angle), length * planar * std::sin(angle), length * z};
}

double sample_radius(Uniform& uniform) {
  for (;;) {
    const double radius = 1.0 / std::sqrt(std::pow(1.0 - uniform(), -2.0 / 3.0) - 1.0);
    if (radius < cutoff_radius) return radius;
  }
}

// Speed as a share q of the escape speed, distributed as q^2 (1 - q^2)^(7/2), whose maximum is below 0.1.
double sample_speed(Uniform& uniform, double radius) {
  for (;;) {
    const double share = uniform();
    if (0.1 * uniform() < share * share * std::pow(1.0 - share * share, 3.5)) {
      return share * std::numbers::sqrt2 * std::pow(1.0 + radius * radius, -0.25);
    }
  }
}

void subtract_mean(std::vector<double>& vectors) {
  const std::size_t bodies = vectors.size() / 3;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double sum = 0.0;
    for (std::size_t body = 0; body < bodies; ++body) sum += vectors[3 * body + axis];
    for (std::size_t body = 0; body < bodies; ++body) {
      vectors[3 * body + axis] -= sum / static_cast<double>(bodies);
    }
  }
}

void scale(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

}  // namespace

Cluster make_plummer_cluster(int bodies, double softening, std::uint64_t seed) {
  Uniform uniform(seed);
  Cluster cluster;
  for (int body = 0; body < bodies; ++body) {
    const double radius = sample_radius(uniform);
    const auto position = isotropic(uniform, radius);
    const auto velocity = isotropic(uniform, sample_speed(uniform, radius));
    cluster.positions.insert(cluster.positions.end(), position.begin(), position.end());
    cluster.velocities.insert(cluster.velocities.end(), velocity.begin(), velocity.end());
  }
  scale(cluster.positions, length_unit);
  subtract_mean(cluster.positions);
  subtract_mean(cluster.velocities);
  // A sample of few bodies is some percent off equilibrium, and the softening weakens the force: put that
  // right.
  LocalBodies all(bodies, 0, bodies);
  all.take(cluster.positions, cluster.velocities);
  all.accelerate(cluster.positions, softening);
  const Sums sums = all.sums();
  scale(cluster.velocities, std::sqrt(sums.virial() / (2.0 * sums.kinetic_energy())));
  return cluster;
}

}  // namespace nbody
