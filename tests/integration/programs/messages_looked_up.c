// SPDX-License-Identifier: BSD-3-Clause
// Functions of messages that not every MPI has, found as mpi4py finds them: what is there works.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "messages.inc"

// MPICH and Intel MPI get statuses wrong and MPI_Isendrecv_replace, and MPICH 4 crashes on MPI_PROC_NULL.
static int is_open_mpi(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  return strncmp(library, "Open MPI", 8) == 0;
}

static void exchanges(void) {
  int (*isendrecv)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                   MPI_Request*) = NULL;
  int (*replace)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*) = NULL;
  *(void**)&isendrecv = dlsym(RTLD_DEFAULT, "MPI_Isendrecv");
  *(void**)&replace = dlsym(RTLD_DEFAULT, "MPI_Isendrecv_replace");
  CHECK(isendrecv != NULL && replace != NULL);
  enum { count = 30000 };
  int* out = malloc(2 * count * sizeof(int));
  int* in = malloc(2 * count * sizeof(int));
  MPI_Datatype every_other;
  MPI_Type_vector(count, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Request requests[3];
  MPI_Status statuses[3];
  for (int i = 0; i < 2 * count; ++i) out[i] = rank + i, in[i] = -1;
  isendrecv(out, count, MPI_INT, next_rank(), 4, in, 1, every_other, previous_rank(), 4, MPI_COMM_WORLD,
            &requests[0]);
  int value = 5, five = 5;
  const int partner = is_open_mpi() ? MPI_PROC_NULL : rank;
  isendrecv(&five, 1, MPI_INT, partner, 0, &value, 1, MPI_INT, partner, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, statuses);
  CHECK(requests[0] == MPI_REQUEST_NULL && value == 5 && in[1] == -1 && in[2 * count - 1] == -1);
  for (int i = 0; i < count; ++i) CHECK(in[2 * i] == previous_rank() + i);
  for (int i = 0; i < 2 * count; ++i) out[i] = rank + i;
  if (is_open_mpi()) {
    replace(out, 1, every_other, next_rank(), 5, previous_rank(), 5, MPI_COMM_WORLD, &requests[0]);
    for (int flag = 0; !flag;) MPI_Test(&requests[0], &flag, &statuses[0]);
    for (int i = 0; i < 2 * count; ++i) CHECK(out[i] == (i % 2 == 0 ? previous_rank() : rank) + i);
  }
  // A message to oneself.
  isendrecv(&rank, 1, MPI_INT, rank, 6, &value, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], &statuses[0]);
  CHECK(value == rank);
  MPI_Type_free(&every_other);
  free(out);
  free(in);
}

static void statuses_of_exchanges(void) {
  if (!is_open_mpi()) return;
  int (*isendrecv)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                   MPI_Request*) = NULL;
  *(void**)&isendrecv = dlsym(RTLD_DEFAULT, "MPI_Isendrecv");
  unsigned char in[100], out[100];
  MPI_Request request;
  MPI_Status status;
  fill(out, 40, rank);
  isendrecv(out, 40, MPI_BYTE, next_rank(), 7, in, 100, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
            &request);
  MPI_Wait(&request, &status);
  check_status(&status, previous_rank(), 7, 40);
  CHECK(is_filled(in, 40, previous_rank()));
}

static void flushes(void) {
  int (*flush)(void) = NULL;
  int (*iflush)(MPI_Request*) = NULL;
  *(void**)&flush = dlsym(RTLD_DEFAULT, "MPI_Buffer_flush");
  *(void**)&iflush = dlsym(RTLD_DEFAULT, "MPI_Buffer_iflush");
  CHECK(flush != NULL && iflush != NULL);
  flush();  // of no buffer
  enum { bytes = 1000, count = 3 };
  int attached = count * (bytes + MPI_BSEND_OVERHEAD), size_of_buffer = 0;
  void *buffer = malloc((size_t)attached), *detached = NULL;
  unsigned char data[bytes];
  fill(data, bytes, rank);
  MPI_Buffer_attach(buffer, attached);
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < count; ++i) MPI_Bsend(data, bytes, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      unsigned char in[bytes];
      MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_filled(in, bytes, previous_rank()));
    }
    // Then all of it is free again.
    if (turn % 2 == 0) {
      flush();
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      iflush(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(request == MPI_REQUEST_NULL);
    }
  }
  MPI_Buffer_detach(&detached, &size_of_buffer);
  CHECK(detached == buffer && size_of_buffer == attached);
  free(buffer);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {
      {"exchanges", exchanges}, {"statuses", statuses_of_exchanges}, {"flushes", flushes}, {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
