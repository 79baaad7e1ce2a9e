/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts numbers that are spread over all ranks, by samples. It names regions of its own for Unisono.
 *
 *     mpirun -n 4 ./sort [NUMBERS [ROUNDS]]
 *
 * NUMBERS are those of each rank, 20000 without it; ROUNDS are 5. Ranks agree on borders by samples
 * (MPI_Allgather). They tell each other how much will come (MPI_Alltoall), and exchange all numbers
 * (MPI_Alltoallv). The program ends with 1 where the result is not sorted, or numbers were lost. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "unisono/unisono.h"

enum { samples_of_a_rank = 32 };

static int rank, ranks;

/* Where Unisono learns while the program runs, calls in regions of different names are learned apart. Without
 * Unisono the functions are not there. */
static void begin_region(const char* name) {
  if (unisono_region_begin) unisono_region_begin(name);
}
static void end_region(void) {
  if (unisono_region_end) unisono_region_end();
}

static void* allocated(size_t bytes) {
  void* memory = malloc(bytes ? bytes : 1);
  if (memory != NULL) return memory;
  fprintf(stderr, "sort: rank %d: no memory for %zu bytes\n", rank, bytes);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return NULL;
}

static int in_order(const void* left, const void* right) {
  const uint64_t one = *(const uint64_t*)left, other = *(const uint64_t*)right;
  return (one > other) - (one < other);
}

static uint64_t next_number(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state ^ (*state >> 29);
}

/* The numbers at which one rank's share ends and the next one's begins. */
static uint64_t* agreed_borders(const uint64_t* numbers, int count) {
  uint64_t own[samples_of_a_rank];
  uint64_t* all = allocated(sizeof(uint64_t) * samples_of_a_rank * (size_t)ranks);
  for (int i = 0; i < samples_of_a_rank; i++)
    own[i] = count > 0 ? numbers[(int64_t)count * i / samples_of_a_rank] : 0;
  MPI_Allgather(own, samples_of_a_rank, MPI_UINT64_T, all, samples_of_a_rank, MPI_UINT64_T, MPI_COMM_WORLD);
  qsort(all, (size_t)ranks * samples_of_a_rank, sizeof *all, in_order);
  for (int i = 1; i < ranks; i++) all[i - 1] = all[i * samples_of_a_rank];
  return all;
}

/* Takes `count` numbers, which it frees, and returns this rank's share of all in order; how many, in *count.
 */
static uint64_t* sorted(uint64_t* numbers, int* count) {
  int* sizes = allocated(sizeof(int) * 4 * (size_t)ranks);
  int *to = sizes, *to_at = sizes + ranks, *from = sizes + 2 * ranks, *from_at = sizes + 3 * ranks;
  qsort(numbers, (size_t)*count, sizeof *numbers, in_order);
  begin_region("borders");
  uint64_t* borders = agreed_borders(numbers, *count);
  end_region();
  for (int other = 0, i = 0; other < ranks; other++) {
    to_at[other] = i;
    while (i < *count && (other == ranks - 1 || numbers[i] < borders[other])) i++;
    to[other] = i - to_at[other];
  }
  begin_region("exchange");
  MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
  int total = 0;
  for (int other = 0; other < ranks; other++) {
    from_at[other] = total;
    total += from[other];
  }
  uint64_t* made = allocated(sizeof *made * (size_t)total);
  MPI_Alltoallv(numbers, to, to_at, MPI_UINT64_T, made, from, from_at, MPI_UINT64_T, MPI_COMM_WORLD);
  end_region();
  qsort(made, (size_t)total, sizeof *made, in_order);
  free(numbers);
  free(borders);
  free(sizes);
  *count = total;
  return made;
}

/* How many, their sum, and their sum weighted by place in the order of all: the same for every number of
 * ranks that sorted right. */
static void summarize(const uint64_t* numbers, int count, uint64_t sums[3]) {
  uint64_t own = (uint64_t)count, before = 0;
  MPI_Exscan(&own, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) before = 0;
  sums[0] = own;
  sums[1] = sums[2] = 0;
  for (int i = 0; i < count; i++) {
    sums[1] += numbers[i];
    sums[2] += numbers[i] * (before + (uint64_t)i + 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* Whether this rank's numbers are in order, and behind those of the ranks before. */
static int is_sorted(const uint64_t* numbers, int count) {
  int good = 1;
  for (int i = 1; i < count; i++) good = good && numbers[i - 1] <= numbers[i];
  uint64_t highest = count > 0 ? numbers[count - 1] : 0, before = 0;
  MPI_Exscan(&highest, &before, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (rank > 0 && count > 0) good = good && before <= numbers[0];
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return good;
}

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long count = argument_count > 1 ? strtol(arguments[1], NULL, 10) : 20000;
  const long rounds = argument_count > 2 ? strtol(arguments[2], NULL, 10) : 5;
  if (count < 1 || count > 100000000 / ranks || rounds < 1) {
    if (rank == 0) fprintf(stderr, "sort: NUMBERS must be from 1 to %d, ROUNDS above 0\n", 100000000 / ranks);
    MPI_Finalize();
    return 2;
  }
  int good = 1;
  for (long round = 0; round < rounds; round++) {
    uint64_t state = (uint64_t)rank * 1000003u + (uint64_t)round + 1, before[3], after[3];
    uint64_t* numbers = allocated(sizeof *numbers * (size_t)count);
    for (long i = 0; i < count; i++) numbers[i] = next_number(&state);
    int own = (int)count;
    summarize(numbers, own, before);
    numbers = sorted(numbers, &own);
    summarize(numbers, own, after);
    good = is_sorted(numbers, own) && good && before[0] == after[0] && before[1] == after[1];
    if (rank == 0)
      printf("sort: round %ld, %" PRIu64 " numbers, digest %016" PRIx64 "\n", round + 1, after[0], after[2]);
    free(numbers);
  }
  if (rank == 0 && !good) fprintf(stderr, "sort: numbers are out of order, or lost\n");
  MPI_Finalize();
  return good ? 0 : 1;
}
