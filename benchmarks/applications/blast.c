// SPDX-License-Identifier: BSD-3-Clause
// A blast wave in a gas, as LULESH has it (explicit steps, neighbours' cells, one small minimum a step):
//     blast EDGE STEPS
// Each rank has EDGE cells each way. Euler's equations with Rusanov's fluxes, of first order. A step fetches
// five fields of up to 26 neighbours, and all ranks agree on how long the next one may be.
#include <math.h>

#include "boxes.h"

enum { mass, momentum_x, momentum_y, momentum_z, energy, fields };
static const double gamma_of_gas = 1.4;

static double pressure(const double* u) {
  const double kinetic = (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / (2 * u[mass]);
  return (gamma_of_gas - 1) * (u[energy] - kinetic);
}

static double fastest(const double* u, int axis) {
  return fabs(u[1 + axis] / u[mass]) + sqrt(gamma_of_gas * pressure(u) / u[mass]);
}

static void flux_along(const double* u, int axis, double* flux) {
  const double speed = u[1 + axis] / u[mass], p = pressure(u);
  for (int f = 0; f < fields; ++f) flux[f] = u[f] * speed;
  flux[1 + axis] += p;
  flux[energy] += p * speed;
}

static void flux_between(const double* left, const double* right, int axis, double* flux) {
  double a[fields], b[fields];
  flux_along(left, axis, a);
  flux_along(right, axis, b);
  const double speed = fmax(fastest(left, axis), fastest(right, axis));
  for (int f = 0; f < fields; ++f) flux[f] = 0.5 * (a[f] + b[f] - speed * (right[f] - left[f]));
}

static size_t row, plane;
static double *now[fields], *later[fields];

static void take(size_t at, double* u) {
  for (int f = 0; f < fields; ++f) u[f] = now[f][at];
}

// At the end of the world what is outside is as what is inside.
static void close_world(const struct boxes* b, int edge) {
  const size_t strides[3] = {plane, row, 1};
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) {
      if (b->at[axis] != (side == 0 ? 0 : b->grid[axis] - 1)) continue;
      const size_t one = strides[(axis + 1) % 3], two = strides[(axis + 2) % 3], own = strides[axis];
      const size_t outside = side == 0 ? 0 : (size_t)edge + 1, inside = side == 0 ? 1 : (size_t)edge;
      for (int f = 0; f < fields; ++f)
        for (size_t i = 0; i < row; ++i)
          for (size_t j = 0; j < row; ++j)
            now[f][outside * own + i * one + j * two] = now[f][inside * own + i * one + j * two];
    }
}

static void step_cell(size_t at, double of_length) {
  const size_t strides[3] = {plane, row, 1};
  double own[fields], change[fields] = {0};
  take(at, own);
  for (int axis = 0; axis < 3; ++axis) {
    double below[fields], above[fields], in[fields], out[fields];
    take(at - strides[axis], below);
    take(at + strides[axis], above);
    flux_between(below, own, axis, in);
    flux_between(own, above, axis, out);
    for (int f = 0; f < fields; ++f) change[f] += in[f] - out[f];
  }
  for (int f = 0; f < fields; ++f) later[f][at] = own[f] + of_length * change[f];
}

static double squares_of_mass(int edge) {
  double sum = 0;
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z) {
        const double of_cell = now[mass][(size_t)x * plane + (size_t)y * row + (size_t)z];
        sum += of_cell * of_cell;
      }
  return sum;
}

static double longest_step(int edge) {
  double most = 0;
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z) {
        double u[fields];
        take((size_t)x * plane + (size_t)y * row + (size_t)z, u);
        for (int axis = 0; axis < 3; ++axis) most = fmax(most, fastest(u, axis));
      }
  return 0.3 / most;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct boxes b;
  int edge, steps;
  two_numbers(argc, argv, &edge, &steps);
  boxes_begin(&b);
  row = (size_t)edge + 2;
  plane = row * row;
  for (int f = 0; f < fields; ++f) {
    now[f] = calloc(row * plane, sizeof(double));
    later[f] = calloc(row * plane, sizeof(double));
    for (size_t i = 0; i < row * plane; ++i) now[f][i] = f == mass ? 1 : f == energy ? 1e-2 : 0;
  }
  if (b.rank == 0) now[energy][plane + row + 1] = 10;
  MPI_Barrier(b.comm);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    exchange(&b, edge, fields, now);
    close_world(&b, edge);
    const double length = over_all(&b, longest_step(edge), MPI_MIN);
    for (int x = 1; x <= edge; ++x)
      for (int y = 1; y <= edge; ++y)
        for (int z = 1; z <= edge; ++z) step_cell((size_t)x * plane + (size_t)y * row + (size_t)z, length);
    for (int f = 0; f < fields; ++f) {
      double* before = now[f];
      now[f] = later[f];
      later[f] = before;
    }
  }
  MPI_Barrier(b.comm);
  const double whole_s = MPI_Wtime() - begin;
  tell(&b, whole_s, over_all(&b, squares_of_mass(edge), MPI_SUM), steps);
  MPI_Finalize();
  return 0;
}
