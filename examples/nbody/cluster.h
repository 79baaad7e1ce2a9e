// SPDX-License-Identifier: BSD-3-Clause
// The initial state: a Plummer sphere in N-body units (G = 1, total mass 1, total energy about -1/4).
#pragma once

#include <cstdint>
#include <vector>

namespace nbody {

// Equal masses 1/N. Vectors of 3N doubles, x y z of one body after the other.
struct Cluster {
  std::vector<double> positions;
  std::vector<double> velocities;
};

// The same bodies for the same arguments on every machine with IEEE arithmetic. The cluster is at rest at its
// centre of mass and in virial equilibrium for the softened force.
Cluster make_plummer_cluster(int bodies, double softening, std::uint64_t seed);

}  // namespace nbody
