// SPDX-License-Identifier: BSD-3-Clause
// Two processes start two more by MPI_Comm_spawn, and all meet in the collectives of the communicators
// between and over both groups.
//   spawn PROGRAM [argument]...     what is started: this program again
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { children = 2, elements = 3000 };

static void check(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "spawn: %s is wrong\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void meet(MPI_Comm comm) {
  static int values[elements], sums[elements];
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int count = 1; count <= elements; count += elements - 1) {
    for (int i = 0; i < count; ++i) values[i] = rank + i;
    MPI_Allreduce(values, sums, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) check(sums[i] == size * (size - 1) / 2 + size * i, "allreduce");
    if (rank == size - 1) values[count - 1] = 4711;
    MPI_Bcast(values, count, MPI_INT, size - 1, comm);
    check(values[count - 1] == 4711, "bcast");
    MPI_Barrier(comm);
  }
}

int main(int argc, char** argv) {
  MPI_Comm parent, other, all;
  int one = 1, sum = 0, remote = 0, rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  other = parent;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[1], argv + 2, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                   MPI_ERRCODES_IGNORE);
  }
  meet(MPI_COMM_WORLD);
  MPI_Comm_remote_size(other, &remote);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
  check(sum == remote, "allreduce between the groups");
  MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &all);
  meet(all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
  if (rank == 0) puts("OK");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
