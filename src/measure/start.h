// SPDX-License-Identifier: BSD-3-Clause
// How the calls of a benchmark begin (A11, section 2.6). They begin behind a barrier or in a window of time
// on synchronised clocks. Ranks begin together or one after the other, with caches warm or purged.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
  double skew_s;         // ranks arrive at random within so long
  uint64_t seed;         // of that: the same seed, the same arrivals
  int is_cold;           // caches are purged before each call
  int is_window;         // ranks begin at an agreed time, else when a barrier lets them go
  double clock_ahead_s;  // this rank's clock against that of rank 0
  double slack_s;        // how far ahead a window is agreed on
  char* purged;
  size_t purged_bytes;
} start_of = {.seed = 1, .slack_s = 50e-6};

// Does each call stand for itself?
static int is_call_by_call(void) {
  return start_of.skew_s > 0 || start_of.is_cold;
}

static void purge_caches(void) {
  if (start_of.purged == NULL) {
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    start_of.purged_bytes = bytes > 0 ? (size_t)bytes : (size_t)32 << 20;
    start_of.purged = malloc(start_of.purged_bytes);
    if (start_of.purged == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  memset(start_of.purged, 0, start_of.purged_bytes);
  __asm__ volatile("" : : "r"(start_of.purged) : "memory");
}

// What comes next of a sequence that the seed and the rank alone decide (splitmix64), in [0, 1).
static double random_share(int of_rank) {
  static uint64_t state;
  static int is_seeded;
  if (!is_seeded) {
    state = start_of.seed * 0x9e3779b97f4a7c15u + (uint64_t)of_rank * 0xbf58476d1ce4e5b9u;
    is_seeded = 1;
  }
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) / (double)(1ull << 53);
}

static void wait_for_time(double time_s) {
  while (now_s() < time_s) {
    if (time_s - now_s() > 5e-6) sched_yield();
  }
}

// Offsets against rank 0's clock from the quickest of many round trips; one rank after the other.
static void synchronise_clocks(int world_rank, int world_size) {
  enum { trips = 50, clock_tag = 78 };
  for (int other = 1; other < world_size; ++other) {
    if (world_rank != 0 && world_rank != other) continue;
    double quickest = 1e30;
    for (int i = 0; i < trips; ++i) {
      double theirs = 0;
      if (world_rank == 0) {
        MPI_Recv(&theirs, 1, MPI_DOUBLE, other, clock_tag, everybody, MPI_STATUS_IGNORE);
        theirs = now_s();
        MPI_Send(&theirs, 1, MPI_DOUBLE, other, clock_tag, everybody);
      } else {
        const double before = now_s();
        MPI_Send(&theirs, 1, MPI_DOUBLE, 0, clock_tag, everybody);
        MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, clock_tag, everybody, MPI_STATUS_IGNORE);
        const double after = now_s();
        if (after - before >= quickest) continue;
        quickest = after - before;
        start_of.clock_ahead_s = (before + after) / 2 - theirs;
      }
    }
  }
}

// All ranks begin now; in a window this returns when it opens, and says by its own clock when that was, or 0:
// it has passed already. A barrier lets ranks go one after the other: each begins when it is let go.
static double begin_together(int world_rank) {
  if (!start_of.is_window) {
    MPI_Barrier(everybody);
    return now_s();
  }
  double opens_s = now_s() + start_of.slack_s;
  MPI_Bcast(&opens_s, 1, MPI_DOUBLE, 0, everybody);
  if (world_rank != 0) opens_s += start_of.clock_ahead_s;
  const int is_late = now_s() > opens_s;
  wait_for_time(opens_s);
  return is_late ? 0 : opens_s;
}

// A call to which ranks come one after the other: its time is what passes after the last one is there.
static double time_skewed_call(const struct Operation* op, int bytes, double start) {
  const double delay = start_of.skew_s * random_share(world_rank);
  double latest;
  wait_for_time(start + delay);
  op->run(bytes);
  const double mine = now_s() - start;
  enable(1);
  MPI_Allreduce(&delay, &latest, 1, MPI_DOUBLE, MPI_MAX, everybody);
  return mine > latest ? mine - latest : 0;
}
