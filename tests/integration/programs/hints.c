// SPDX-License-Identifier: BSD-3-Clause
// Every function that gives a new communicator an info object is listened to. Prints which serve a reduction
// in one order, as the key `unisono_reproducible` asks for.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "unisono/unisono.h"

static int rank, size;

static void look(const char* name, MPI_Comm comm) {
  double x = rank, y = 0;
  char text[256] = "none", plain[256] = "none";
  for (int i = 0; i < 3; ++i) MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, comm);
  unisono_decision_on(&comm, "allreduce", 8192, text, sizeof text);
  unisono_decision("allreduce", 8192, plain, sizeof plain);
  if (rank == 0) printf("%s %s\n", name, strcmp(text, plain) == 0 ? "plain" : "in order");
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info yes, no;
  MPI_Info_create(&yes);
  MPI_Info_set(yes, "unisono_reproducible", "yes");
  MPI_Info_create(&no);
  MPI_Info_set(no, "unisono_reproducible", "no");
  MPI_Comm comm, parent;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, yes, &comm);
  look("dup_with_info", comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, yes, &comm);
  look("split_type", comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
  look("split_type without", comm);
  int self = rank, next = (rank + 1) % size, previous = (rank + size - 1) % size, degree = 1;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &self, &degree, &next, &degree, yes, 0, &comm);
  look("dist_graph_create", comm);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &degree, 1, &next, &degree, yes, 0, &comm);
  look("dist_graph_create_adjacent", comm);
#ifdef MPI_SESSION_NULL
  MPI_Request request;
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, yes, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  look("idup_with_info", comm);
  // What is given counts, not what the parent has.
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, yes, &parent);
  MPI_Comm_idup_with_info(parent, no, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  look("idup_with_info no", comm);
  MPI_Comm_free(&parent);
  MPI_Group group;
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "unisono.hints", yes, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  look("create_from_group", comm);
  MPI_Session_finalize(&session);
#else
  (void)parent;
#endif
  MPI_Info_free(&yes);
  MPI_Info_free(&no);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
