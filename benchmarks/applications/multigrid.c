// SPDX-License-Identifier: BSD-3-Clause
// V-cycles on Poisson's equation, as AMG has them: large boxes at first, then ever smaller ones:
//     multigrid EDGE CYCLES
// Each rank has EDGE cells each way, a power of two. A level fetches one layer of up to 26 neighbours for
// each of its sweeps. On the coarsest, of 2 cells each way, each rank gathers all cells, and solves for
// itself. After a cycle all ranks learn what is left.
#include <math.h>

#include "boxes.h"

enum { most_levels = 12, sweeps = 2, coarse_sweeps = 60 };

struct level {
  int edge;
  size_t row, plane, cells;
  double *x, *right, *left, *later;  // solution, right side, what is left of it, solution after a sweep
};
static struct level levels[most_levels];
static int level_count;

static size_t at(const struct level* l, int x, int y, int z) {
  return (size_t)x * l->plane + (size_t)y * l->row + (size_t)z;
}

static double neighbors_of(const struct level* l, const double* v, size_t i) {
  return v[i - l->plane] + v[i + l->plane] + v[i - l->row] + v[i + l->row] + v[i - 1] + v[i + 1];
}

static void make_levels(int edge) {
  for (; edge >= 2 && level_count < most_levels; edge /= 2) {
    struct level* l = &levels[level_count++];
    l->edge = edge;
    l->row = (size_t)edge + 2;
    l->plane = l->row * l->row;
    l->cells = l->row * l->plane;
    l->x = calloc(l->cells, sizeof(double));
    l->right = calloc(l->cells, sizeof(double));
    l->left = calloc(l->cells, sizeof(double));
    l->later = calloc(l->cells, sizeof(double));
  }
}

static void smooth(struct boxes* b, struct level* l, int times) {
  for (int sweep = 0; sweep < times; ++sweep) {
    exchange(b, l->edge, 1, &l->x);
    for (int x = 1; x <= l->edge; ++x)
      for (int y = 1; y <= l->edge; ++y)
        for (int z = 1; z <= l->edge; ++z) {
          const size_t i = at(l, x, y, z);
          const double best = (l->right[i] + neighbors_of(l, l->x, i)) / 6;
          l->later[i] = l->x[i] + 0.8 * (best - l->x[i]);
        }
    double* before = l->x;
    l->x = l->later;
    l->later = before;
  }
}

// Squared and added up, of this rank.
static double find_left(struct boxes* b, struct level* l) {
  double sum = 0;
  exchange(b, l->edge, 1, &l->x);
  for (int x = 1; x <= l->edge; ++x)
    for (int y = 1; y <= l->edge; ++y)
      for (int z = 1; z <= l->edge; ++z) {
        const size_t i = at(l, x, y, z);
        l->left[i] = l->right[i] + neighbors_of(l, l->x, i) - 6 * l->x[i];
        sum += l->left[i] * l->left[i];
      }
  return sum;
}

// A coarse cell is eight fine ones; its equation has four times the weight of theirs, so half of their sum.
static void restrict_to(const struct level* fine, struct level* coarse) {
  memset(coarse->x, 0, coarse->cells * sizeof(double));
  for (int x = 1; x <= coarse->edge; ++x)
    for (int y = 1; y <= coarse->edge; ++y)
      for (int z = 1; z <= coarse->edge; ++z) {
        double sum = 0;
        for (int of = 0; of < 8; ++of)
          sum += fine->left[at(fine, 2 * x - of / 4, 2 * y - of / 2 % 2, 2 * z - of % 2)];
        coarse->right[at(coarse, x, y, z)] = sum / 2;
      }
}

static void add_from(const struct level* coarse, struct level* fine) {
  for (int x = 1; x <= fine->edge; ++x)
    for (int y = 1; y <= fine->edge; ++y)
      for (int z = 1; z <= fine->edge; ++z)
        fine->x[at(fine, x, y, z)] += coarse->x[at(coarse, (x + 1) / 2, (y + 1) / 2, (z + 1) / 2)];
}

// All ranks have all cells of the coarsest level, sweep over them alike, and keep their own.
static void solve_coarsest(struct boxes* b, struct level* l) {
  enum { own = 8 };
  double mine[own];
  const int nx = 2 * b->grid[0], ny = 2 * b->grid[1], nz = 2 * b->grid[2];
  const size_t row = (size_t)nz + 2, plane = row * ((size_t)ny + 2), cells = plane * ((size_t)nx + 2);
  double *all = malloc((size_t)b->size * own * sizeof(double)), *right = calloc(cells, sizeof(double)),
         *x = calloc(cells, sizeof(double));
  for (int of = 0; of < own; ++of) mine[of] = l->right[at(l, 1 + of / 4, 1 + of / 2 % 2, 1 + of % 2)];
  const double before = MPI_Wtime();
  MPI_Allgather(mine, own, MPI_DOUBLE, all, own, MPI_DOUBLE, b->comm);
  b->in_messages_s += MPI_Wtime() - before;
  size_t first = 0;
  for (int rank = 0; rank < b->size; ++rank) {
    int place[3];
    MPI_Cart_coords(b->comm, rank, 3, place);
    const size_t begin =
        (size_t)(2 * place[0] + 1) * plane + (size_t)(2 * place[1] + 1) * row + (size_t)(2 * place[2] + 1);
    if (rank == b->rank) first = begin;
    for (int of = 0; of < own; ++of)
      right[begin + (size_t)(of / 4) * plane + (size_t)(of / 2 % 2) * row + (size_t)(of % 2)] =
          all[rank * own + of];
  }
  for (int sweep = 0; sweep < coarse_sweeps; ++sweep)
    for (int i = 1; i <= nx; ++i)
      for (int j = 1; j <= ny; ++j)
        for (int k = 1; k <= nz; ++k) {
          const size_t c = (size_t)i * plane + (size_t)j * row + (size_t)k;
          x[c] = (right[c] + x[c - plane] + x[c + plane] + x[c - row] + x[c + row] + x[c - 1] + x[c + 1]) / 6;
        }
  for (int of = 0; of < own; ++of)
    l->x[at(l, 1 + of / 4, 1 + of / 2 % 2, 1 + of % 2)] =
        x[first + (size_t)(of / 4) * plane + (size_t)(of / 2 % 2) * row + (size_t)(of % 2)];
  free(all);
  free(right);
  free(x);
}

static void cycle(struct boxes* b) {
  for (int i = 0; i < level_count - 1; ++i) {
    smooth(b, &levels[i], sweeps);
    find_left(b, &levels[i]);
    restrict_to(&levels[i], &levels[i + 1]);
  }
  solve_coarsest(b, &levels[level_count - 1]);
  for (int i = level_count - 2; i >= 0; --i) {
    add_from(&levels[i + 1], &levels[i]);
    smooth(b, &levels[i], sweeps);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct boxes b;
  int edge, cycles;
  two_numbers(argc, argv, &edge, &cycles);
  boxes_begin(&b);
  if ((edge & (edge - 1)) != 0) {
    if (b.rank == 0) fprintf(stderr, "EDGE must be a power of two\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  make_levels(edge);
  struct level* finest = &levels[0];
  for (int x = 1; x <= edge; ++x)
    for (int y = 1; y <= edge; ++y)
      for (int z = 1; z <= edge; ++z)
        finest->right[at(finest, x, y, z)] = (double)((x * 31 + y * 17 + z * 7 + b.rank * 13) % 11) - 5;
  MPI_Barrier(b.comm);
  const double begin = MPI_Wtime();
  b.in_messages_s = 0;
  double first_norm = 0, norm = 0;
  for (int i = 0; i < cycles; ++i) {
    // Small numbers say nothing any more: begin anew.
    if (i % 10 == 0) memset(finest->x, 0, finest->cells * sizeof(double));
    cycle(&b);
    norm = sqrt(over_all(&b, find_left(&b, finest), MPI_SUM));
    if (i % 10 == 0) first_norm = norm;
  }
  MPI_Barrier(b.comm);
  tell(&b, MPI_Wtime() - begin, norm / first_norm, cycles);
  MPI_Finalize();
  return 0;
}
