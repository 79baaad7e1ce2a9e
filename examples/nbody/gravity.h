// SPDX-License-Identifier: BSD-3-Clause
// The bodies of one rank, and the physics: softened gravity by direct summation, kicks and drifts, conserved
// quantities.
#pragma once

#include <array>
#include <span>
#include <vector>

namespace nbody {

// One rank's share of the quantities that are summed over all bodies; added up over ranks as plain doubles.
class Sums {
 public:
  static constexpr std::size_t count = 9;

  std::span<double> values() { return values_; }

  double& kinetic_energy() { return values_[0]; }
  double& potential_energy() { return values_[1]; }
  double& virial() { return values_[2]; }                   // -sum of position . force; 2 T in equilibrium
  double& momentum(int axis) { return values_[3 + axis]; }  // NOLINT
  double& angular_momentum(int axis) { return values_[6 + axis]; }  // NOLINT
  double kinetic_energy() const { return values_[0]; }
  double potential_energy() const { return values_[1]; }
  double virial() const { return values_[2]; }
  double energy() const { return values_[0] + values_[1]; }
  double virial_ratio() const { return 2.0 * values_[0] / values_[2]; }
  std::span<const double, 3> momentum() const { return std::span(values_).subspan<3, 3>(); }
  std::span<const double, 3> angular_momentum() const { return std::span(values_).subspan<6, 3>(); }

 private:
  std::array<double, count> values_{};
};

class LocalBodies {
 public:
  // Bodies `first` up to, not including, `last`, out of `total`.
  LocalBodies(int total, int first, int last);

  // Copies the own part out of the vectors of all bodies (x y z one body after the other).
  void take(std::span<const double> all_positions, std::span<const double> all_velocities);
  // Writes the own positions as x y z one body after the other; what `positions` has beyond them stays.
  void write_positions(std::span<double> positions) const;

  // Every body's sum runs over all bodies in their order, and each operation is rounded by itself. So the
  // result is bit for bit the same however the bodies are divided among ranks.
  void accelerate(std::span<const double> all_positions, double softening);
  void kick(double time);
  void drift(double time);

  double largest_acceleration() const;  // 0 without bodies
  Sums sums() const;

 private:
  int total_;
  int first_;
  std::size_t count_;
  std::array<std::vector<double>, 3> position_, velocity_, acceleration_;
  std::vector<double> potential_;
};

}  // namespace nbody
