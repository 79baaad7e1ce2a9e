// SPDX-License-Identifier: BSD-3-Clause
// What takes cores away (N7): every rank looks at the clock without a pause. Where two looks are further
// apart than the quietest ones, something else had the core.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "start.h"

enum { most_detours = 20000, most_detours_of_all = 120000, noise_tag = 78 };
static const double least_detour_s = 0.5e-6, unrecorded_s = 1e-3;

// Of one rank, in seconds from the recording's begin on.
struct Detours {
  double length_s, quantum_s;  // quantum: between two looks that nothing comes between
  int count;
  double (*of)[2];  // begin, length
};

static void record_detours(double seconds, int most, struct Detours* found) {
  double quantum = 1;
  // What begins a recording is no noise: pages, clocks and cores that wake up.
  const double woken = now_s();
  for (double last = woken; last - woken < unrecorded_s;) {
    const double now = now_s();
    if (now - last > 0 && now - last < quantum) quantum = now - last;
    last = now;
  }
  const double begin = now_s();
  double last = begin;
  found->count = 0;
  while (last - begin < seconds && found->count < most) {
    const double now = now_s();
    if (now - last > quantum + least_detour_s) {
      found->of[found->count][0] = last - begin;
      found->of[found->count++][1] = now - last - quantum;
    }
    last = now;
  }
  found->length_s = last - begin;
  found->quantum_s = quantum;
}

static void print_detours(const struct Detours* found, const char* separator) {
  printf("%s{\"length_us\": %.3f, \"quantum_us\": %.4f, \"begins_us\": [", separator, found->length_s * 1e6,
         found->quantum_s * 1e6);
  for (int i = 0; i < found->count; ++i) printf("%s%.3f", i > 0 ? ", " : "", found->of[i][0] * 1e6);
  printf("], \"us\": [");
  for (int i = 0; i < found->count; ++i) printf("%s%.3f", i > 0 ? ", " : "", found->of[i][1] * 1e6);
  printf("]}");
}

// All ranks record for so long; rank 0 prints {"noise":[{"length_us","quantum_us","begins_us","us"},...]}, in
// the order of ranks.
static int answer_noise(double seconds) {
  const int share = most_detours_of_all / world_size, most = share < most_detours ? share : most_detours;
  struct Detours own = {0, 0, 0, malloc((size_t)most * sizeof *own.of)};
  if (own.of == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < most; ++i) own.of[i][0] = own.of[i][1] = 0;
  MPI_Barrier(everybody);
  record_detours(seconds, most, &own);
  MPI_Barrier(everybody);
  if (world_rank == 0) {
    printf("{\"noise\": [");
    print_detours(&own, "");
  }
  double facts[3] = {own.length_s, own.quantum_s, own.count};
  for (int r = 1; r < world_size; ++r) {
    if (world_rank == r) {
      MPI_Send(facts, 3, MPI_DOUBLE, 0, noise_tag, everybody);
      MPI_Send(own.of, 2 * own.count, MPI_DOUBLE, 0, noise_tag, everybody);
    } else if (world_rank == 0) {
      MPI_Recv(facts, 3, MPI_DOUBLE, r, noise_tag, everybody, MPI_STATUS_IGNORE);
      MPI_Recv(own.of, 2 * most, MPI_DOUBLE, r, noise_tag, everybody, MPI_STATUS_IGNORE);
      own.length_s = facts[0], own.quantum_s = facts[1], own.count = (int)facts[2];
      print_detours(&own, ", ");
    }
  }
  if (world_rank == 0) {
    printf("]}\n");
    fflush(stdout);
  }
  free(own.of);
  return 1;
}
