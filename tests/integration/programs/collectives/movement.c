// SPDX-License-Identifier: BSD-3-Clause
// Sections that drive the operations through counts, roots, datatypes and ways to name a buffer.
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static uint32_t next_seed(void) {
  static uint32_t seed = 100;
  return ++seed;
}

static Operation first_data_operation(void) {
  return bcast;
}

static int is_block_operation(Operation operation) {
  return operation >= gather;
}

static Operation following(Operation operation) {
  return (Operation)((int)operation + 1);
}

// Everyone enters before anyone leaves. All ranks run on one kernel, so its monotonic clock is common to
// them.
static void check_barrier(MPI_Comm comm, int late_rank) {
  enum { tag = 5, delay_us = 2000 };
  int rank, size;
  double times[2];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rank == late_rank) usleep(delay_us);
  times[0] = seconds_now();
  MPI_Barrier(comm);
  times[1] = seconds_now();
  if (rank != 0) {
    MPI_Send(times, 2, MPI_DOUBLE, 0, tag, comm);
    return;
  }
  double last_in = times[0], first_out = times[1];
  for (int source = 1; source < size; ++source) {
    MPI_Recv(times, 2, MPI_DOUBLE, source, tag, comm, MPI_STATUS_IGNORE);
    if (times[0] > last_in) last_in = times[0];
    if (times[1] < first_out) first_out = times[1];
  }
  if (first_out < last_in) {
    check_failed("barrier: a rank left %.0f us before the last one (rank %d) came",
                 1e6 * (last_in - first_out), late_rank);
  } else {
    check_passed();
  }
}

void section_barrier(void) {
  if (!is_tested(barrier)) return;
  for (int rank = 0; rank < world_size; ++rank) check_barrier(MPI_COMM_WORLD, rank);
  for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  check_barrier(MPI_COMM_WORLD, world_size - 1);
}

void section_counts(void) {
  const long counts[] = {0,  1,    2,    3,     7,     world_size - 1, world_size, world_size + 1,
                         14, 1000, 4096, 25001, 262144};
  enum { count_count = sizeof counts / sizeof counts[0], largest_block = 25001 };
  for (int c = 0; c < count_count; ++c) {
    for (Operation operation = first_data_operation(); operation < operation_count;
         operation = following(operation)) {
      if (is_block_operation(operation) && counts[c] > largest_block) continue;
      const Trial trial = plain_trial(MPI_COMM_WORLD, c % world_size, counts[c], next_seed());
      run_trial(operation, &trial);
    }
  }
}

void section_roots(void) {
  const long counts[] = {1, 5, 3000};
  const Operation rooted[] = {bcast, reduce, gather, scatter, gatherv, scatterv};
  for (int root = 0; root < world_size; ++root) {
    for (int c = 0; c < 3; ++c) {
      for (int o = 0; o < 6; ++o) {
        const Trial trial = plain_trial(MPI_COMM_WORLD, root, counts[c], next_seed());
        run_trial(rooted[o], &trial);
      }
    }
  }
}

void section_in_place(void) {
  const long counts[] = {0, 1, 6, world_size, 1000, 20000};
  for (int c = 0; c < 6; ++c) {
    for (Operation operation = reduce; operation < operation_count; operation = following(operation)) {
      Trial trial = plain_trial(MPI_COMM_WORLD, (c + 1) % world_size, counts[c], next_seed());
      trial.is_in_place = 1;
      run_trial(operation, &trial);
    }
  }
}

// Shapes differ between ranks (one signature throughout), unless `is_uniform`.
static void choose_shapes(Trial* trial, int turn, int is_uniform) {
  const int own = is_uniform ? 0 : world_rank;
  trial->is_mixed = !is_uniform;
  trial->send = &shapes[(own + turn) % shape_count];
  trial->receive = &shapes[(own + turn + (is_uniform ? 0 : 1)) % shape_count];
}

static void run_derived(int is_absolute) {
  const long counts[] = {common_multiple, 50 * common_multiple, 2500 * common_multiple};
  for (int turn = 0; turn < shape_count; ++turn) {
    for (int c = 0; c < 3; ++c) {
      if (c == 2 && turn % 2 == 0) continue;
      for (Operation operation = bcast; operation < operation_count; operation = following(operation)) {
        if (is_reduction(operation)) continue;  // predefined operators take no derived type
        Trial trial = plain_trial(MPI_COMM_WORLD, (turn + c) % world_size, counts[c], next_seed());
        choose_shapes(&trial, turn, c == 0 && turn % 2 == 0);
        trial.is_absolute = is_absolute;
        run_trial(operation, &trial);
      }
    }
  }
}

static void run_derived_in_place(void) {
  for (int turn = 1; turn < shape_count; ++turn) {
    for (Operation operation = gather; operation < operation_count; operation = following(operation)) {
      if (is_reduction(operation)) continue;
      Trial trial = plain_trial(MPI_COMM_WORLD, turn % world_size, 4 * common_multiple, next_seed());
      // Alltoall in place wants the same type on all ranks only in signature; the layout here differs.
      choose_shapes(&trial, turn, 0);
      trial.is_in_place = 1;
      run_trial(operation, &trial);
    }
  }
}

void section_derived(void) {
  run_derived(0);
  run_derived_in_place();
}

void section_absolute(void) {
  run_derived(1);
  for (Operation operation = first_data_operation(); operation < operation_count;
       operation = following(operation)) {
    if (is_reduction(operation)) continue;
    Trial trial = plain_trial(MPI_COMM_WORLD, 0, 0, next_seed());
    trial.is_absolute = 1;
    run_trial(operation, &trial);
  }
}

void section_large_counts(void) {
#if HAS_LARGE_COUNTS
  const long counts[] = {0, 1, common_multiple, 500 * common_multiple};
  for (int c = 0; c < 4; ++c) {
    for (Operation operation = first_data_operation(); operation < operation_count;
         operation = following(operation)) {
      for (int in_place = 0; in_place < 2; ++in_place) {
        Trial trial = plain_trial(MPI_COMM_WORLD, c % world_size, counts[c], next_seed());
        if (counts[c] % common_multiple == 0) choose_shapes(&trial, c, 0);
        trial.is_large_count = 1;
        trial.is_in_place = in_place;
        run_trial(operation, &trial);
      }
    }
  }
#endif
}
