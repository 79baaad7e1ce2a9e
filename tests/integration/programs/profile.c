// SPDX-License-Identifier: BSD-3-Clause
// Known calls of all kinds by four ranks: what the profile must count, no more and no less.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size;
static int words[400];

// To the neighbour, the rank two further on, itself and nobody.
static void messages(void) {
  const int beside = rank ^ 1, far = (rank + 2) % size;
  for (int i = 0; i < 10; ++i) {
    if (rank % 2 == 0) {
      MPI_Send(words, 100, MPI_INT, beside, 1, MPI_COMM_WORLD);
    } else {  // room for more than comes
      MPI_Recv(words, 400, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  double in = 0, out = rank;
  for (int i = 0; i < 5; ++i) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(&in, 1, MPI_DOUBLE, far, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, far, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
  }
  char seven[7] = {0}, received[7];
  for (int i = 0; i < 3; ++i) {
    MPI_Sendrecv(seven, 7, MPI_CHAR, rank, 3, received, 7, MPI_CHAR, rank, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Ssend(words, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
}

static void persistent(void) {
  const int far = (rank + 2) % size;
  int in = 0, out = rank;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Send_init(&out, 1, MPI_INT, far, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, far, 5, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 4; ++i) {
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, statuses);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

// Types whose handles may come again, with another size.
static void types(void) {
  for (int length = 1; length <= 3; ++length) {
    MPI_Datatype type;
    MPI_Type_contiguous(length, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Request request;
    MPI_Ibsend(words, 0, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(words, 2, type, rank ^ 1, 6, rank ^ 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
  }
}

static void collectives(void) {
  double in = rank, out = 0;
  for (int i = 0; i < 3; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(words, 100, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, words, 2, MPI_INT, MPI_COMM_WORLD);
  int counts[4], places[4];
  for (int i = 0; i < size; ++i) counts[i] = 1 + (rank + i) % size, places[i] = 10 * i;
  MPI_Alltoallv(words, counts, places, MPI_INT, words + 200, counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Gather(&in, 1, MPI_DOUBLE, words, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  // Of two ranks beside each other, and of one.
  for (int i = 0; i < 2; ++i) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, i == 0 ? rank / 2 : rank, rank, &half);
    MPI_Allgather(&rank, 1, MPI_INT, words, 1, MPI_INT, half);
    MPI_Comm_free(&half);
  }
}

static void neighbours(void) {
  int sizes[1] = {size}, periods[1] = {1};
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &ring);
  MPI_Neighbor_alltoall(words, 3, MPI_INT, words + 100, 3, MPI_INT, ring);
  MPI_Comm_free(&ring);
}

static void windows(void) {
  MPI_Win window;
  MPI_Win_create(words, sizeof words, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  int out[4] = {1, 2, 3, 4};
  MPI_Put(out, 4, MPI_INT, (rank + 2) % size, 20 * rank, 4, MPI_INT, window);
  MPI_Put(out, 2, MPI_INT, rank, 20 * rank + 10, 2, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

static void files(const char* name) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 40 * rank, words, 10, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2 && strcmp(argv[2], "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  messages();
  persistent();
  types();
  collectives();
  neighbours();
  windows();
  files(argv[1]);
  MPI_Pcontrol(0);
  for (int i = 0; i < 7; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  for (int i = 0; i < 100; ++i) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  return 0;
}
