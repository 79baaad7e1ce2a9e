// SPDX-License-Identifier: BSD-3-Clause
// A program that makes one kind of calls again and again, as the source's figure 4 does, in turns with and
// without Unisono:
//     learning OPERATION BYTES CALLS TURNS [COMPUTING]
// It makes CALLS calls under Unisono in TURNS turns. Beside each turn it makes as many calls of the MPI's
// own, which see the same machine at the same time. A barrier begins each turn. Rank 0 prints a JSON object:
// the seconds of each turn on its slowest rank. With COMPUTING each call is followed by as much computing,
// the same on all ranks: so many times what a call of the MPI's own takes. Then the time of the calls alone
// counts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured_operations.h"

enum { most_turns = 1000 };
static const double least_warm_s = 0.2;
static double seconds[2][most_turns], slowest[2][most_turns];

static double timed(Run run, int bytes, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) run(bytes);
  return MPI_Wtime() - start;
}

static volatile double computed = 1;
static void compute(long rounds) {
  double value = computed;
  for (long i = 0; i < rounds; ++i) value = value * 0.999 + 0.001;
  computed = value;
}

// How many rounds take so long on rank 0, when it has its core.
static long rounds_of(double wanted_s) {
  long rounds = 1000;
  double best_s = 1;
  for (int look = 0; look < 20; ++look) {
    const double start = MPI_Wtime();
    compute(rounds);
    const double took_s = MPI_Wtime() - start;
    if (took_s < best_s) best_s = took_s;
  }
  rounds = (long)(wanted_s / best_s * (double)rounds);
  MPI_Bcast(&rounds, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return rounds;
}

// The calls alone, with computing between them.
static double timed_beside(Run run, int bytes, int calls, long rounds) {
  double in_calls_s = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < calls; ++i) {
    const double start = MPI_Wtime();
    run(bytes);
    in_calls_s += MPI_Wtime() - start;
    compute(rounds);
  }
  return in_calls_s;
}

static void print(const char* key, const double* times, int count, const char* end) {
  printf("\"%s\": [", key);
  for (int i = 0; i < count; ++i) printf("%s%.4g", i ? ", " : "", times[i]);
  printf("]%s", end);
}

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  const double computing = argc == 6 ? atof(argv[5]) : 0;
  const int bytes = atoi(argv[2]), calls = atoi(argv[3]), turns = atoi(argv[4]);
  const struct Operation* op = find_operation(argv[1]);
  if (op == NULL || turns < 1 || turns > most_turns) return 2;
  int (*set_enabled)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t room = ((size_t)bytes * 3 / 2 + 8) * (size_t)size;
  input = calloc(room, 1);
  output = calloc(room, 1);
  // The memory's first touch is nobody's.
  memset(input, 1, room);
  memset(output, 1, room);
  // Nor is what the MPI sets up at its first calls, or that ranks begin on the same core: the program alone
  // would wait for that too.
  if (set_enabled != NULL) set_enabled(0);
  double least_s = 1e9;
  for (double warm_s = 0; warm_s < least_warm_s; MPI_Bcast(&warm_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)) {
    const double turn_s = timed(op->run, bytes, calls / turns);
    if (turn_s < least_s) least_s = turn_s;
    warm_s += turn_s;
  }
  const long rounds = computing > 0 ? rounds_of(computing * least_s / (calls / turns)) : 0;
  for (int turn = 0; turn < turns; ++turn) {
    // Who comes first changes: what is left behind in caches serves both alike.
    for (int i = 0; i < 2; ++i) {
      const int is_native = (i + turn) % 2;
      if (set_enabled != NULL) set_enabled(!is_native);
      seconds[is_native][turn] = computing > 0 ? timed_beside(op->run, bytes, calls / turns, rounds)
                                               : timed(op->run, bytes, calls / turns);
    }
  }
  if (set_enabled != NULL) set_enabled(1);
  for (int kind = 0; kind < 2; ++kind)
    MPI_Reduce(seconds[kind], slowest[kind], turns, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{");
    print("unisono_s", slowest[0], turns, ", ");
    print("native_s", slowest[1], turns, "}\n");
  }
  free(input);
  free(output);
  MPI_Finalize();
  return 0;
}
