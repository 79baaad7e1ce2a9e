// SPDX-License-Identifier: BSD-3-Clause
// Messages that are longer than their receives: prints what each status says, to be compared with another
// run. With an argument: between a rank and itself alone.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static const int lengths[] = {10, 264, 1000, 5000, 100000, 1500000};
enum { length_count = sizeof lengths / sizeof lengths[0], longest = 1500000 };
enum { receive, started, persistent, probed, probed_started, both_ways, as_numbers, with_gaps, ways };
static unsigned char out[longest], in[longest];

static int receive_by(int way, int bytes, int from, MPI_Comm comm, MPI_Status* status) {
  const int room = bytes / 2;
  int error = MPI_SUCCESS, index = 0, other = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  MPI_Datatype every_other;
  switch (way) {
    case receive:
      return MPI_Recv(in, room, MPI_BYTE, from, 1, comm, status);
    case started:
      MPI_Irecv(in, room, MPI_BYTE, from, 1, comm, &request);
      return MPI_Wait(&request, status);
    case persistent:
      MPI_Recv_init(in, room, MPI_BYTE, from, 1, comm, &request);
      MPI_Start(&request);
      error = MPI_Waitany(1, &request, &index, status);
      MPI_Request_free(&request);
      return error;
    case probed:
      MPI_Mprobe(from, 1, comm, &message, status);
      return MPI_Mrecv(in, room, MPI_BYTE, &message, status);
    case probed_started:
      MPI_Mprobe(from, 1, comm, &message, status);
      MPI_Imrecv(in, room, MPI_BYTE, &message, &request);
      return MPI_Wait(&request, status);
    case both_ways:
      MPI_Irecv(&other, 1, MPI_INT, from, 2, comm, &request);
      error = MPI_Sendrecv(&rank, 1, MPI_INT, from, 2, in, room, MPI_BYTE, from, 1, comm, status);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return error;
    case as_numbers:
      return MPI_Recv(in, room / (int)sizeof(int), MPI_INT, from, 1, comm, status);
    default:
      MPI_Type_vector(2, 1, 2, MPI_CHAR, &every_other);
      MPI_Type_commit(&every_other);
      error = MPI_Recv(in, room / 4, every_other, from, 1, comm, status);
      MPI_Type_free(&every_other);
      return error;
  }
}

static void tell(int way, int bytes, int error, const MPI_Status* status) {
  int class = 0, in_bytes = 0, in_numbers = 0, elements = 0;
  MPI_Count large = 0;
  MPI_Error_class(error, &class);
  MPI_Get_count(status, MPI_BYTE, &in_bytes);
  MPI_Get_count(status, MPI_INT, &in_numbers);
  MPI_Get_elements(status, MPI_BYTE, &elements);
  MPI_Get_elements_x(status, MPI_INT, &large);
  if (rank != 0) return;
  printf("way %d, %d bytes: %s, from %d, tag %d, %d bytes, %d numbers, %d and %lld elements\n", way, bytes,
         class == MPI_ERR_TRUNCATE ? "truncated" : "not truncated", status->MPI_SOURCE, status->MPI_TAG,
         in_bytes, in_numbers, elements, (long long)large);
}

static void exchange(MPI_Comm comm, int partner) {
  for (int l = 0; l < length_count; ++l) {
    for (int way = 0; way < ways; ++way) {
      MPI_Request sending;
      MPI_Status status;
      memset(&status, 0, sizeof status);
      MPI_Isend(out, lengths[l], MPI_BYTE, partner, 1, comm, &sending);
      if (l % 2) MPI_Barrier(comm);  // it is there before its receive
      const int error = receive_by(way, lengths[l], partner, comm, &status);
      MPI_Wait(&sending, MPI_STATUS_IGNORE);
      tell(way, lengths[l], error, &status);
      MPI_Barrier(comm);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Requests of MPI_COMM_SELF are the world's for some MPIs.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  exchange(MPI_COMM_SELF, 0);
  if (argc == 1) exchange(MPI_COMM_WORLD, size - 1 - rank);
  MPI_Finalize();
  return 0;
}
