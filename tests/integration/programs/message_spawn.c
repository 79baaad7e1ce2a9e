// SPDX-License-Identifier: BSD-3-Clause
// Two processes start two more by MPI_Comm_spawn, and send messages within each group, between both, and on
// the communicator over both.
//   message_spawn PROGRAM [argument]...     what is started: this program again
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { children = 2, elements = 3000 };

static void check(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "message_spawn: %s is wrong\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void meet(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  // Messages around the ring, each of which goes out before the one from the other side is asked for.
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int tag = 0; tag < 20; ++tag) {
    int value = -1;
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, next, tag, comm, &request);
    MPI_Recv(&value, 1, MPI_INT, tag % 2 ? MPI_ANY_SOURCE : previous, tag, comm, MPI_STATUS_IGNORE);
    check(value == previous, "message");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// Each of a group has a partner in the other one.
static void talk_to_others(MPI_Comm other) {
  static int out[elements], in[elements];
  int rank;
  MPI_Comm_rank(other, &rank);
  for (int count = 1; count <= elements; count += elements - 1) {
    for (int i = 0; i < count; ++i) out[i] = rank + i, in[i] = -1;
    MPI_Sendrecv(out, count, MPI_INT, rank, 3, in, count, MPI_INT, rank, 3, other, MPI_STATUS_IGNORE);
    check(in[0] == rank && in[count - 1] == rank + count - 1, "message between the groups");
  }
}

int main(int argc, char** argv) {
  MPI_Comm parent, other, all;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  other = parent;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[1], argv + 2, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                   MPI_ERRCODES_IGNORE);
  }
  meet(MPI_COMM_WORLD);
  talk_to_others(other);
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
