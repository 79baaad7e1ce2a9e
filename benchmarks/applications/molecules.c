// SPDX-License-Identifier: BSD-3-Clause
// Molecular dynamics of a Lennard-Jones liquid with replicated data: each step sums all forces
// (MPI_Allreduce).
//
//   mpirun -n 8 molecules [STEPS [ATOMS]]
//
// Every rank knows all atoms and has its share of the pairs. 1766 atoms have 42384 bytes of forces. Exits
// with 1 where the energy is not kept.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double density = 0.8442, cutoff = 2.5, skin = 0.3, time_step = 0.002;
static const int rebuilt_after = 20;   // steps in which atoms move less than half the skin
static const double tolerated = 2e-3;  // of the kinetic energy at the start

struct Liquid {
  int atoms, rank, size;
  double box;
  double* positions;  // three numbers an atom, as all that follow
  double* velocities;
  double* forces;   // of all ranks' pairs
  double* partial;  // of this rank's
  int* pairs;       // two atoms each
  int pair_count, most_pairs;
};

// Atoms stay within half a box of where they began.
static double around(const struct Liquid* liquid, double difference) {
  if (difference > 0.5 * liquid->box) return difference - liquid->box;
  return difference < -0.5 * liquid->box ? difference + liquid->box : difference;
}

static double square_between(const struct Liquid* liquid, int one, int other, double between[3]) {
  double square = 0;
  for (int axis = 0; axis < 3; ++axis) {
    between[axis] = around(liquid, liquid->positions[3 * one + axis] - liquid->positions[3 * other + axis]);
    square += between[axis] * between[axis];
  }
  return square;
}

static void add_pair(struct Liquid* liquid, int one, int other) {
  if (liquid->pair_count == liquid->most_pairs) {
    liquid->most_pairs = 2 * liquid->most_pairs + 1024;
    liquid->pairs = realloc(liquid->pairs, 2 * sizeof(int) * (size_t)liquid->most_pairs);
    if (liquid->pairs == NULL) abort();
  }
  liquid->pairs[2 * liquid->pair_count] = one;
  liquid->pairs[2 * liquid->pair_count + 1] = other;
  ++liquid->pair_count;
}

// Of each two atoms the one that the other follows on the shorter way round has the pair.
static void find_pairs(struct Liquid* liquid) {
  const int atoms = liquid->atoms;
  const int first = (int)((long)atoms * liquid->rank / liquid->size);
  const int last = (int)((long)atoms * (liquid->rank + 1) / liquid->size);
  const double far = (cutoff + skin) * (cutoff + skin);
  double between[3];
  liquid->pair_count = 0;
  for (int one = first; one < last; ++one) {
    for (int step = 1; 2 * step <= atoms; ++step) {
      const int other = (one + step) % atoms;
      // Of an even number the atoms on the far side are met from both.
      if (2 * step == atoms && other < one) continue;
      if (square_between(liquid, one, other, between) < far) add_pair(liquid, one, other);
    }
  }
}

// The potential energy of this rank's pairs.
static double find_forces(struct Liquid* liquid) {
  const double at_cutoff = pow(cutoff, -6), shift = 4 * (at_cutoff * at_cutoff - at_cutoff);
  double potential = 0, between[3];
  for (int i = 0; i < 3 * liquid->atoms; ++i) liquid->partial[i] = 0;
  for (int pair = 0; pair < liquid->pair_count; ++pair) {
    const int one = liquid->pairs[2 * pair], other = liquid->pairs[2 * pair + 1];
    const double square = square_between(liquid, one, other, between);
    if (square >= cutoff * cutoff) continue;
    const double inverse = 1 / (square * square * square);
    const double push = (48 * inverse * inverse - 24 * inverse) / square;
    for (int axis = 0; axis < 3; ++axis) {
      liquid->partial[3 * one + axis] += push * between[axis];
      liquid->partial[3 * other + axis] -= push * between[axis];
    }
    potential += 4 * (inverse * inverse - inverse) - shift;
  }
  MPI_Allreduce(liquid->partial, liquid->forces, 3 * liquid->atoms, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return potential;
}

static double kinetic_energy(const struct Liquid* liquid) {
  double sum = 0;
  for (int i = 0; i < 3 * liquid->atoms; ++i) sum += liquid->velocities[i] * liquid->velocities[i];
  return 0.5 * sum;
}

static double total_energy(const struct Liquid* liquid, double potential) {
  double all = 0;
  MPI_Allreduce(&potential, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return kinetic_energy(liquid) + all;
}

// On a lattice, with velocities that differ and have no sum; the same on all ranks.
static void begin(struct Liquid* liquid) {
  const int atoms = liquid->atoms, side = (int)ceil(cbrt(atoms));
  double mean[3] = {0, 0, 0};
  liquid->box = cbrt(atoms / density);
  double** const arrays[] = {&liquid->positions, &liquid->velocities, &liquid->forces, &liquid->partial};
  for (int i = 0; i < 4; ++i) {
    *arrays[i] = calloc(3 * (size_t)atoms, sizeof(double));
    if (*arrays[i] == NULL) abort();
  }
  unsigned state = 1;
  for (int atom = 0; atom < atoms; ++atom) {
    const int place[3] = {atom / side / side, atom / side % side, atom % side};
    for (int axis = 0; axis < 3; ++axis) {
      state = state * 1664525u + 1013904223u;
      liquid->positions[3 * atom + axis] = place[axis] * liquid->box / side;
      liquid->velocities[3 * atom + axis] = 3.4 * ((double)(state >> 8) / (1 << 24) - 0.5);
      mean[axis] += liquid->velocities[3 * atom + axis] / atoms;
    }
  }
  for (int i = 0; i < 3 * atoms; ++i) liquid->velocities[i] -= mean[i % 3];
  find_pairs(liquid);
}

int main(int count, char** words) {
  struct Liquid liquid = {.atoms = count > 2 ? atoi(words[2]) : 1766};
  const int steps = count > 1 ? atoi(words[1]) : 1000;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &liquid.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &liquid.size);
  begin(&liquid);
  double potential = find_forces(&liquid);
  const double kinetic = kinetic_energy(&liquid), before = total_energy(&liquid, potential);
  for (int step = 1; step <= steps; ++step) {
    for (int i = 0; i < 3 * liquid.atoms; ++i) {
      liquid.velocities[i] += 0.5 * time_step * liquid.forces[i];
      liquid.positions[i] += time_step * liquid.velocities[i];
    }
    if (step % rebuilt_after == 0) find_pairs(&liquid);
    potential = find_forces(&liquid);
    for (int i = 0; i < 3 * liquid.atoms; ++i) liquid.velocities[i] += 0.5 * time_step * liquid.forces[i];
  }
  const double drift = fabs(total_energy(&liquid, potential) - before) / kinetic;
  if (liquid.rank == 0) printf("energy drifts by %.1e of the kinetic one\n", drift);
  MPI_Finalize();
  return drift < tolerated ? 0 : 1;
}
