// SPDX-License-Identifier: BSD-3-Clause
// Started allreduces of float and double values of every kind. Rank 0 prints a hash of all bits of the
// results. Two ranks: only rank 0 has values that are no numbers, since of two of them an MPI may keep
// either.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { count = 1000, rounds = 8 };

static uint64_t state;

static uint64_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state ^ (state >> 29);
}

// Zeros, tiny ones, infinities, and any bits at all.
static uint64_t special(int width, int may_be_nan) {
  const int mantissa = width == 64 ? 52 : 23;
  const uint64_t exponents = ((uint64_t)1 << (width - 1)) - ((uint64_t)1 << mantissa);
  const uint64_t bits = draw() & (width == 64 ? UINT64_MAX : UINT32_MAX),
                 sign = bits & ((uint64_t)1 << (width - 1));
  const uint64_t fraction = bits & (((uint64_t)1 << mantissa) - 1);
  switch (draw() % 8) {
    case 0:
      return sign;
    case 1:
      return sign | fraction;
    case 2:
      return sign | exponents | (may_be_nan ? fraction : 0);
    default:
      return (bits & exponents) == exponents && !may_be_nan ? sign | fraction : bits;
  }
}

int main(int argc, char** argv) {
  static uint64_t in64[count], out64[count];
  static uint32_t in32[count], out32[count];
  int rank = 0;
  uint64_t hash = 14695981039346656037u;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  state = 17 + (uint64_t)rank;
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  for (int round = 0; round < 4 * rounds; ++round) {
    for (int i = 0; i < count; ++i) {
      in64[i] = special(64, rank == 0);
      in32[i] = (uint32_t)special(32, rank == 0);
    }
    MPI_Request requests[2];
    MPI_Iallreduce(in64, out64, count, MPI_DOUBLE, ops[round % 4], MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(in32, out32, count, MPI_FLOAT, ops[round % 4], MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) hash = (hash ^ out64[i] ^ ((uint64_t)out32[i] << 20)) * 1099511628211u;
  }
  if (rank == 0) printf("bits %016llx\n", (unsigned long long)hash);
  MPI_Finalize();
  return 0;
}
