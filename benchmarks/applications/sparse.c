// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients on a matrix of 27 points, as HPCG has them:
//     sparse EDGE SETS
// Each rank has EDGE rows each way. A set is ten iterations from nothing. Each begins with a symmetric sweep
// of Gauss and Seidel inside the ranks. It fetches one layer of up to 26 neighbours twice, and adds three
// numbers over all ranks, one at a time.
#include <math.h>

#include "boxes.h"

static int edge;
static size_t row, plane, cells;

static size_t at(int x, int y, int z) {
  return (size_t)x * plane + (size_t)y * row + (size_t)z;
}

static double around(const double* v, size_t i) {
  double sum = 0;
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y) {
      const double* line = v + i + (ptrdiff_t)x * (ptrdiff_t)plane + (ptrdiff_t)y * (ptrdiff_t)row;
      sum += line[-1] + line[0] + line[1];
    }
  return sum - v[i];
}

// out = A v: 26 on the diagonal, -1 for each neighbour; nothing is outside the world.
static void multiply(struct boxes* b, double* v, double* out) {
  exchange(b, edge, 1, &v);
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z) out[at(x, y, z)] = 26 * v[at(x, y, z)] - around(v, at(x, y, z));
}

// About out = A^-1 v. The layer of the neighbours is as they had it after the sweep upwards.
static void smooth(struct boxes* b, const double* v, double* out) {
  memset(out, 0, cells * sizeof(double));
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z) out[at(x, y, z)] = (v[at(x, y, z)] + around(out, at(x, y, z))) / 26;
  // Only what is this rank's counts, so that the whole stays symmetric; the exchange is what HPCG does here.
  double* kept = malloc(cells * sizeof(double));
  memcpy(kept, out, cells * sizeof(double));
  exchange(b, edge, 1, &kept);
  free(kept);
  for (int x = edge; x >= 1; --x)
    for (int y = edge; y >= 1; --y)
      for (int z = edge; z >= 1; --z) out[at(x, y, z)] = (v[at(x, y, z)] + around(out, at(x, y, z))) / 26;
}

static double dot(struct boxes* b, const double* v, const double* w) {
  double sum = 0;
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z) sum += v[at(x, y, z)] * w[at(x, y, z)];
  return over_all(b, sum, MPI_SUM);
}

// v = v + factor w, or v = w + factor v.
static void add(double* v, double factor, const double* w, int is_of_v) {
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z) {
        const size_t i = at(x, y, z);
        v[i] = is_of_v ? w[i] + factor * v[i] : v[i] + factor * w[i];
      }
}

// Ten iterations from nothing, for the right side r; the norm of what is left of it.
static double solve(struct boxes* b, double* x, double* r, double* p, double* z, double* q) {
  double rz = 0;
  memset(x, 0, cells * sizeof *x);
  for (int i = 0; i < 10; ++i) {
    smooth(b, r, z);
    const double before = rz;
    rz = dot(b, r, z);
    add(p, i == 0 ? 0 : rz / before, z, 1);
    multiply(b, p, q);
    const double alpha = rz / dot(b, p, q);
    add(x, alpha, p, 0);
    add(r, -alpha, q, 0);
    (void)dot(b, r, r);
  }
  return sqrt(dot(b, r, r));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct boxes b;
  int sets;
  two_numbers(argc, argv, &edge, &sets);
  boxes_begin(&b);
  row = (size_t)edge + 2;
  plane = row * row;
  cells = row * plane;
  double* v[6];
  for (int i = 0; i < 6; ++i) v[i] = calloc(cells, sizeof(double));
  double *x = v[0], *right = v[5];
  for (int i = 1; i <= edge; ++i)
    for (int j = 1; j <= edge; ++j)
      for (int k = 1; k <= edge; ++k) x[at(i, j, k)] = 1;
  multiply(&b, x, right);  // so that the solution is 1 everywhere
  MPI_Barrier(b.comm);
  const double begin = MPI_Wtime();
  b.in_messages_s = 0;
  double norm = 0;
  for (int set = 0; set < sets; ++set) {
    memcpy(v[1], right, cells * sizeof(double));
    norm = solve(&b, x, v[1], v[2], v[3], v[4]);
  }
  MPI_Barrier(b.comm);
  tell(&b, MPI_Wtime() - begin, norm, sets);
  for (int i = 0; i < 6; ++i) free(v[i]);
  MPI_Finalize();
  return 0;
}
