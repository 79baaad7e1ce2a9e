// SPDX-License-Identifier: BSD-3-Clause
// A session's communicators outlive MPI_Finalize, which ends the world model alone (MPI 4.1, section 11.2):
// so do calls on them, and ranks may start those before or behind it. Prints OK, or SKIP without sessions.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef MPI_SESSION_NULL
enum { most = 4 };
static int wrong;

static void check(int is_right, const char* what, int which) {
  if (is_right || wrong++ >= 5) return;
  fprintf(stderr, "wrong %s on communicator %d\n", what, which);
}

// What is made of a session's communicator is the session's.
static int make(MPI_Session session, MPI_Comm comms[most]) {
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "unisono.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comms[0]);
  MPI_Group_free(&group);
  int rank, size;
  MPI_Comm_rank(comms[0], &rank);
  MPI_Comm_size(comms[0], &size);
  MPI_Comm_dup(comms[0], &comms[1]);
  MPI_Comm_split(comms[1], 0, -rank, &comms[2]);
  int period = 0;
  MPI_Cart_create(comms[2], 1, &size, &period, 0, &comms[3]);
  return most;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Comm comms[most];
  const int count = make(session, comms);
  MPI_Request early[most], late[most], persistent[most];
  double one = 1, sums[most] = {0}, late_sums[most] = {0}, persistent_sums[most] = {0};
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < count; ++i) {
    for (int turn = 0; turn < 50; ++turn) {
      double sum = 0;
      MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comms[i]);
      check(sum == size, "blocking sum", i);
    }
    MPI_Iallreduce(&one, &sums[i], 1, MPI_DOUBLE, MPI_SUM, comms[i], &early[i]);
    MPI_Allreduce_init(&one, &persistent_sums[i], 1, MPI_DOUBLE, MPI_SUM, comms[i], MPI_INFO_NULL,
                       &persistent[i]);
    MPI_Start(&persistent[i]);
    // Rank 0 starts it before MPI_Finalize, the others behind.
    if (rank == 0) MPI_Iallreduce(&one, &late_sums[i], 1, MPI_DOUBLE, MPI_SUM, comms[i], &late[i]);
  }
  MPI_Finalize();
  for (int i = 0; i < count; ++i) {
    if (rank != 0) MPI_Iallreduce(&one, &late_sums[i], 1, MPI_DOUBLE, MPI_SUM, comms[i], &late[i]);
    MPI_Wait(&early[i], MPI_STATUS_IGNORE);
    MPI_Wait(&late[i], MPI_STATUS_IGNORE);
    MPI_Wait(&persistent[i], MPI_STATUS_IGNORE);
    check(sums[i] == size && late_sums[i] == size && persistent_sums[i] == size, "sum over MPI_Finalize", i);
    MPI_Start(&persistent[i]);
    MPI_Wait(&persistent[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent[i]);
    double sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comms[i]);
    check(sum == size && persistent_sums[i] == size, "sum behind MPI_Finalize", i);
  }
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, comms[0]);
  if (rank == 0) puts(all == 0 ? "OK" : "WRONG"), fflush(stdout);
  for (int i = count; i-- > 0;) MPI_Comm_free(&comms[i]);
  MPI_Session_finalize(&session);
  return all != 0;
}
#else
int main(void) {
  puts("SKIP");
  return 0;
}
#endif
