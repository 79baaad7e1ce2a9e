// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives on MPI_COMM_SELF, and beside calls that do not block on the same communicator (MPI
// 4.1, sections 6.12 and 6.13). Persistent calls match among themselves, so ranks may start both in either
// order. Prints OK. With an argument gathers of one process are not looked at: some MPIs read their input too
// soon.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "persistent.inc"

enum { turns = 64, most = 20000 };
static int rank, size, wrong;

static void expect(int is_right, const char* what, int at) {
  if (!is_right && wrong++ < 5) fprintf(stderr, "rank %d: %s (%d)\n", rank, what, at);
}

static void fill(int* values, int count, int first) {
  for (int i = 0; i < count; ++i) values[i] = first + i;
}
static int is_filled(const int* values, int count, int first) {
  for (int i = 0; i < count; ++i)
    if (values[i] != first + i) return 0;
  return 1;
}

// A persistent broadcast and sum, and a broadcast and sum that do not block, under way at once.
static void beside(MPI_Comm comm, int count) {
  static int kept[most], passing[most], in[most], sums[most];
  MPI_Request persistent[2], request[2];
  MPI_Bcast_init(kept, count, MPI_INT, 0, comm, MPI_INFO_NULL, &persistent[0]);
  MPI_Allreduce_init(in, sums, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent[1]);
  for (int turn = 0; turn < turns; ++turn) {
    int one = turn, sum = 0;
    memset(kept, 0xff, sizeof kept), memset(passing, 0xff, sizeof passing);
    if (rank == 0) fill(kept, count, turn);
    if (rank == size - 1) fill(passing, count, -turn);
    for (int i = 0; i < count; ++i) in[i] = turn + i;
    // Which of the two kinds comes first: the persistent ones, the others, or each rank its own.
    const int is_first =
        turn % 4 == 0 || (turn % 4 == 2 && rank % 2 == 0) || (turn % 4 == 3 && rank % 2 != 0);
    if (is_first) MPI_Startall(2, persistent);
    MPI_Ibcast(passing, count, MPI_INT, size - 1, comm, &request[0]);
    if (!is_first && turn % 8 < 4) MPI_Startall(2, persistent);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request[1]);
    if (!is_first && turn % 8 >= 4) MPI_Start(&persistent[1]), MPI_Start(&persistent[0]);
    for (int i = 0; i < 2; ++i) {
      MPI_Wait(turn / 8 % 2 ? &persistent[i] : &request[i], MPI_STATUS_IGNORE);
      MPI_Wait(turn / 8 % 2 ? &request[i] : &persistent[i], MPI_STATUS_IGNORE);
    }
    expect(is_filled(kept, count, turn), "the persistent broadcast", turn);
    expect(is_filled(passing, count, -turn), "the broadcast", turn);
    expect(sum == size * turn, "the sum", turn);
    for (int i = 0; i < count; ++i) expect(sums[i] == size * (turn + i), "the persistent sum", turn);
  }
  MPI_Request_free(&persistent[0]), MPI_Request_free(&persistent[1]);
}

// All operations, of one process.
static void on_self(int first) {
  enum { operations = 17, count = 5 };
  static int in[operations][count], out[operations][count];
  const int counts[] = {count}, places[] = {0};
  const MPI_Datatype types[] = {MPI_INT};
  const MPI_Comm self = MPI_COMM_SELF;
  const MPI_Info none = MPI_INFO_NULL;
  MPI_Request r[operations];
  int n = 0;
#define OF in[n], count, MPI_INT, out[n], count, MPI_INT
#define SUM in[n], out[n], count, MPI_INT, MPI_SUM
#define INIT(name, ...) MPI_##name##_init(__VA_ARGS__, self, none, &r[n]), ++n
  INIT(Gather, OF, 0), INIT(Scatter, OF, 0), INIT(Allgather, OF), INIT(Alltoall, OF);
  INIT(Allgatherv, in[n], count, MPI_INT, out[n], counts, places, MPI_INT);
  INIT(Gatherv, in[n], count, MPI_INT, out[n], counts, places, MPI_INT, 0);
  INIT(Scatterv, in[n], counts, places, MPI_INT, out[n], count, MPI_INT, 0);
  INIT(Alltoallv, in[n], counts, places, MPI_INT, out[n], counts, places, MPI_INT);
  INIT(Alltoallw, in[n], counts, places, types, out[n], counts, places, types);
  INIT(Reduce, SUM, 0), INIT(Allreduce, SUM), INIT(Reduce_scatter_block, SUM), INIT(Scan, SUM);
  INIT(Reduce_scatter, in[n], out[n], counts, MPI_INT, MPI_SUM);
  const int written = n;
  INIT(Exscan, SUM), INIT(Bcast, out[n], count, MPI_INT, 0);
  MPI_Barrier_init(self, none, &r[n++]);
  for (int turn = 0; turn < 8; ++turn) {
    for (int i = 0; i < n; ++i) fill(in[i], count, turn + i), fill(out[i], count, -1);
    MPI_Startall(n, r);
    for (int i = n - 1; i >= 0; --i) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    for (int i = first; i < n; ++i)
      expect(is_filled(out[i], count, i < written ? turn + i : -1), "a call of one process", i);
  }
  for (int i = 0; i < n; ++i) MPI_Request_free(&r[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!has_persistent_collectives()) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  on_self(argc > 1);
  beside(MPI_COMM_WORLD, 3);
  beside(comm, most);
  on_self(argc > 1);
  MPI_Comm_free(&comm);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "OK" : "WRONG");
  fflush(stdout);
  MPI_Finalize();
  return all != 0;
}
