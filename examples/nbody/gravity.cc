// SPDX-License-Identifier: BSD-3-Clause
#include "gravity.h"

#include <algorithm>
#include <cmath>

namespace nbody {

LocalBodies::LocalBodies(int total, int first, int last)
    : total_(total), first_(first), count_(static_cast<std::size_t>(last - first)), potential_(count_) {
  for (auto* vectors : {&position_, &velocity_, &acceleration_}) {
    for (auto& component : *vectors) component.resize(count_);
  }
}

void LocalBodies::take(std::span<const double> all_positions, std::span<const double> all_velocities) {
  for (std::size_t body = 0; body < count_; ++body) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t index = 3 * (static_cast<std::size_t>(first_) + body) + axis;
      position_[axis][body] = all_positions[index];
      velocity_[axis][body] = all_velocities[index];
    }
  }
}

void LocalBodies::write_positions(std::span<double> positions) const {
  for (std::size_t body = 0; body < count_; ++body) {
    for (std::size_t axis = 0; axis < 3; ++axis) positions[3 * body + axis] = position_[axis][body];
  }
}

void LocalBodies::accelerate(std::span<const double> all_positions, double softening) {
  for (auto& component : acceleration_) std::fill(component.begin(), component.end(), 0.0);
  std::fill(potential_.begin(), potential_.end(), 0.0);
  const double mass = 1.0 / total_;
  const double softening_squared = softening * softening;
  // These are raw pointers that do not overlap, and the sum over sources is outside. So the inner loop has no
  // dependency between bodies, and is vectorised without any change in the order of a sum.
  const double* __restrict x = position_[0].data();
  const double* __restrict y = position_[1].data();
  const double* __restrict z = position_[2].data();
  double* __restrict ax = acceleration_[0].data();
  double* __restrict ay = acceleration_[1].data();
  double* __restrict az = acceleration_[2].data();
  double* __restrict potential = potential_.data();
  for (std::size_t source = 0; source < static_cast<std::size_t>(total_); ++source) {
    const double source_x = all_positions[3 * source];
    const double source_y = all_positions[3 * source + 1];
    const double source_z = all_positions[3 * source + 2];
    for (std::size_t body = 0; body < count_; ++body) {
      const double dx = source_x - x[body];
      const double dy = source_y - y[body];
      const double dz = source_z - z[body];
      const double inverse_distance = 1.0 / std::sqrt(dx * dx + dy * dy + dz * dz + softening_squared);
      const double pull = mass * inverse_distance * inverse_distance * inverse_distance;
      ax[body] += pull * dx;
      ay[body] += pull * dy;
      az[body] += pull * dz;
      potential[body] -= mass * inverse_distance;
    }
  }
  // The loop has no exception for a body's pull on itself: its force is 0, its potential is taken back here.
  for (double& value : potential_) value += mass / softening;
}

void LocalBodies::kick(double time) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t body = 0; body < count_; ++body)
      velocity_[axis][body] += time * acceleration_[axis][body];
  }
}

void LocalBodies::drift(double time) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t body = 0; body < count_; ++body) position_[axis][body] += time * velocity_[axis][body];
  }
}

double LocalBodies::largest_acceleration() const {
  double largest_squared = 0.0;
  for (std::size_t body = 0; body < count_; ++body) {
    double squared = 0.0;
    for (const auto& component : acceleration_) squared += component[body] * component[body];
    largest_squared = std::max(largest_squared, squared);
  }
  return std::sqrt(largest_squared);
}

Sums LocalBodies::sums() const {
  Sums sums;
  const double mass = 1.0 / total_;
  for (std::size_t body = 0; body < count_; ++body) {
    for (int axis = 0; axis < 3; ++axis) {
      const int next = (axis + 1) % 3;
      const int after = (axis + 2) % 3;
      const double velocity = velocity_[axis][body];
      sums.kinetic_energy() += 0.5 * mass * velocity * velocity;
      sums.virial() -= mass * position_[axis][body] * acceleration_[axis][body];
      sums.momentum(axis) += mass * velocity;
      sums.angular_momentum(axis) += mass * (position_[next][body] * velocity_[after][body] -
                                             position_[after][body] * velocity_[next][body]);
    }
    sums.potential_energy() += 0.5 * mass * potential_[body];  // each pair is seen from both ends
  }
  return sums;
}

}  // namespace nbody
