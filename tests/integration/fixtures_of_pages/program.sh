# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A reader's own MPI program, ./program, with something to read, and tables.
cat > program.c <<'END'
#include <mpi.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  double values[1000] = {1}, sums[1000];
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Sendrecv(values, 8, MPI_DOUBLE, (rank + 1) % ranks, 0, sums, 8, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) MPI_Allreduce(values, sums, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
END
mpicc -O2 -o program program.c
touch input.txt
rule='{"operation": "allreduce", "bytes": [1025, 65536], "algorithm"'
for table in app other first; do
  echo "{\"schema\": \"unisono-table\", \"version\": 1, \"rules\": [$rule: \"ring(segment=64K)\"}]}" > "$table.json"
done
echo "{\"schema\": \"unisono-table\", \"version\": 1, \"rules\": [$rule: \"recursive_doubling\"}]}" > second.json
