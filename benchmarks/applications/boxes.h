// SPDX-License-Identifier: BSD-3-Clause
// A cube of ranks, each with a box of cells around which lies one layer of its neighbours' cells. The layer
// comes from up to 26 neighbours, as in LULESH and HPCG: by faces, edges and corners.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { directions = 27, center = 13 };  // (x + 1) * 9 + (y + 1) * 3 + (z + 1), each of -1, 0, 1

struct boxes {
  MPI_Comm comm;
  int rank, size;
  int grid[3], at[3];
  int neighbor[directions];  // MPI_PROC_NULL: the end of the world
  double in_messages_s;      // exchanges and reductions so far
};

static inline void boxes_begin(struct boxes* b) {
  memset(b, 0, sizeof *b);
  int is_periodic[3] = {0, 0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &b->size);
  MPI_Dims_create(b->size, 3, b->grid);
  MPI_Cart_create(MPI_COMM_WORLD, 3, b->grid, is_periodic, 0, &b->comm);
  MPI_Comm_rank(b->comm, &b->rank);
  MPI_Cart_coords(b->comm, b->rank, 3, b->at);
  for (int d = 0; d < directions; ++d) {
    const int there[3] = {b->at[0] + d / 9 - 1, b->at[1] + d / 3 % 3 - 1, b->at[2] + d % 3 - 1};
    int is_inside = d != center;
    for (int i = 0; i < 3; ++i) is_inside = is_inside && there[i] >= 0 && there[i] < b->grid[i];
    b->neighbor[d] = MPI_PROC_NULL;
    if (is_inside) MPI_Cart_rank(b->comm, there, &b->neighbor[d]);
  }
}

// From the first to the last cell in a direction: inside the box, or in the layer around it.
static inline void cells_towards(int direction, int edge, int is_layer, int* first, int* last) {
  *first = direction < 0 ? !is_layer : direction > 0 ? edge + is_layer : 1;
  *last = direction == 0 ? edge : *first;
}

// Copies what lies towards direction `d` out of all fields into `line`, or from there into their layers.
// Returns how many numbers that are.
static inline int move_cells(int d, int edge, int fields, double** field, double* line, int is_layer) {
  int first[3], last[3], count = 0;
  cells_towards(d / 9 - 1, edge, is_layer, &first[0], &last[0]);
  cells_towards(d / 3 % 3 - 1, edge, is_layer, &first[1], &last[1]);
  cells_towards(d % 3 - 1, edge, is_layer, &first[2], &last[2]);
  const size_t row = (size_t)edge + 2;
  for (int f = 0; f < fields; ++f)
    for (int x = first[0]; x <= last[0]; ++x)
      for (int y = first[1]; y <= last[1]; ++y)
        for (int z = first[2]; z <= last[2]; ++z) {
          double* cell = &field[f][((size_t)x * row + (size_t)y) * row + (size_t)z];
          if (is_layer)
            *cell = line[count++];
          else
            line[count++] = *cell;
        }
  return count;
}

// The layers of all fields, (edge + 2)^3 doubles each, from all neighbours.
static inline void exchange(struct boxes* b, int edge, int fields, double** field) {
  const double before = MPI_Wtime();
  const size_t most = (size_t)edge * (size_t)edge * (size_t)fields;
  double* lines = malloc(2 * directions * most * sizeof(double));
  MPI_Request requests[2 * directions];
  int count = 0;
  for (int d = 0; d < directions; ++d)
    if (b->neighbor[d] != MPI_PROC_NULL)
      MPI_Irecv(lines + (size_t)d * most, (int)most, MPI_DOUBLE, b->neighbor[d], directions - 1 - d, b->comm,
                &requests[count++]);
  for (int d = 0; d < directions; ++d)
    if (b->neighbor[d] != MPI_PROC_NULL) {
      double* line = lines + (size_t)(directions + d) * most;
      const int numbers = move_cells(d, edge, fields, field, line, 0);
      MPI_Isend(line, numbers, MPI_DOUBLE, b->neighbor[d], d, b->comm, &requests[count++]);
    }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int d = 0; d < directions; ++d)
    if (b->neighbor[d] != MPI_PROC_NULL) move_cells(d, edge, fields, field, lines + (size_t)d * most, 1);
  free(lines);
  b->in_messages_s += MPI_Wtime() - before;
}

static inline double over_all(struct boxes* b, double own, MPI_Op op) {
  const double before = MPI_Wtime();
  double all;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, op, b->comm);
  b->in_messages_s += MPI_Wtime() - before;
  return all;
}

// Two numbers after the program's name; anything else ends the job.
static inline void two_numbers(int count, char** words, int* first, int* second) {
  *first = count == 3 ? atoi(words[1]) : 0;
  *second = count == 3 ? atoi(words[2]) : 0;
  if (*first >= 2 && *second >= 1) return;
  fprintf(stderr, "usage: %s EDGE TIMES, of which EDGE is at least 2\n", words[0]);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// Sums that were added in another order differ in their last digits: results are told with six.
static inline void tell(const struct boxes* b, double whole_s, double result, int steps) {
  if (b->rank == 0)
    printf("messages %.6g\nwhole %.6g\nresult %.6g/%d\n", b->in_messages_s, whole_s, result, steps);
}
