// SPDX-License-Identifier: BSD-3-Clause
// Long messages, whatever carries their data, while either end is in calls of the MPI's own.
#include "messages.inc"

enum { bytes_each = 700000, turns = 12 };

static unsigned char *out, *in;

// Calls that are the MPI's, and wait for all ranks.
static void meet_in_the_mpi(void) {
  if (size == 1) return;
  MPI_Win window;
  int word = rank;
  MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

// The sender hears of the receive when it is inside a call of the MPI's that waits for the receiver.
static void sender_in_the_mpi(void) {
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Request send;
    MPI_Status status;
    fill(out, bytes_each, rank + turn);
    if (rank % 2 == 0 && next_rank() != rank) {
      MPI_Isend(out, bytes_each, MPI_BYTE, next_rank(), turn, MPI_COMM_WORLD, &send);
      meet_in_the_mpi();
      MPI_Wait(&send, MPI_STATUS_IGNORE);
    } else {
      if (previous_rank() != rank && previous_rank() % 2 == 0) {
        MPI_Recv(in, bytes_each, MPI_BYTE, previous_rank(), turn, MPI_COMM_WORLD, &status);
        check_status(&status, previous_rank(), turn, bytes_each);
        CHECK(is_filled(in, bytes_each, previous_rank() + turn));
      }
      meet_in_the_mpi();
    }
    if (rank == 0 && size % 2 != 0 && size != 1) {
      MPI_Recv(in, bytes_each, MPI_BYTE, previous_rank(), turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_filled(in, bytes_each, previous_rank() + turn));
    }
  }
}

// The message comes to a receiver that is inside such a call, and its sender waits for it before that.
static void receiver_in_the_mpi(void) {
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Request receive;
    MPI_Status status;
    fill(out, bytes_each, rank + turn);
    MPI_Irecv(in, bytes_each, MPI_BYTE, previous_rank(), turn, MPI_COMM_WORLD, &receive);
    if (rank % 2 == 0 && size != 1) {
      MPI_Send(out, bytes_each, MPI_BYTE, next_rank(), turn, MPI_COMM_WORLD);
      meet_in_the_mpi();
    } else {
      if (size != 1) meet_in_the_mpi();
      MPI_Sendrecv(out, bytes_each, MPI_BYTE, next_rank(), turn, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&receive, &status);
    check_status(&status, previous_rank(), turn, bytes_each);
    CHECK(is_filled(in, bytes_each, previous_rank() + turn));
  }
}

// Both ways at once, of all lengths from 64 KiB on, often enough for each way to be tried.
static void both_ways(void) {
  for (int turn = 0; turn < 60; ++turn) {
    const int bytes = 65536 + turn % 4 * 200000 + turn;
    fill(out, bytes, rank + turn);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (turn % 3 != 0) MPI_Irecv(in, bytes, MPI_BYTE, previous_rank(), 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 5, MPI_COMM_WORLD, &requests[1]);
    if (turn % 3 == 0) MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]);
    int are_over = 0;
    if (turn % 2 == 0) {
      MPI_Waitall(2, requests, statuses);
    } else {
      while (!are_over) MPI_Testall(2, requests, &are_over, statuses);
    }
    check_status(&statuses[0], previous_rank(), 5, bytes);
    CHECK(is_filled(in, bytes, previous_rank() + turn));
  }
}

// Synchronous and persistent ones, a receive that is too short, and sends that nobody waits for.
static void other_kinds(void) {
  MPI_Request again, receive, freed;
  MPI_Status status;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Send_init(out, bytes_each, MPI_BYTE, next_rank(), 1, comm, &again);
  for (int turn = 0; turn < turns; ++turn) {
    fill(out, bytes_each, rank + turn);
    MPI_Irecv(in, bytes_each, MPI_BYTE, previous_rank(), 1, comm, &receive);
    MPI_Start(&again);
    MPI_Wait(&receive, &status);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    check_status(&status, previous_rank(), 1, bytes_each);
    CHECK(is_filled(in, bytes_each, previous_rank() + turn));
    MPI_Irecv(in, bytes_each, MPI_BYTE, previous_rank(), 2, comm, &receive);
    MPI_Issend(out, bytes_each, MPI_BYTE, next_rank(), 2, comm, &freed);
    MPI_Request_free(&freed);
    MPI_Wait(&receive, &status);
    CHECK(is_filled(in, bytes_each, previous_rank() + turn));
    MPI_Barrier(comm);  // the send may have ended before that alone
  }
  MPI_Request_free(&again);
  MPI_Irecv(in, bytes_each / 2, MPI_BYTE, previous_rank(), 3, comm, &receive);
  MPI_Isend(out, bytes_each, MPI_BYTE, next_rank(), 3, comm, &freed);
  int class = MPI_SUCCESS;
  MPI_Error_class(MPI_Wait(&receive, &status), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  MPI_Wait(&freed, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}

// Without looking at the message in between: elements with gaps, on both sides.
static void with_gaps(void) {
  enum { count = 200000 };
  int *sent = calloc(2 * count, sizeof(int)), *got = calloc(2 * count, sizeof(int));
  MPI_Datatype every_second;
  MPI_Type_vector(count, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < count; ++i) sent[2 * i] = rank * 1000 + turn + i;
    MPI_Sendrecv(sent, 1, every_second, next_rank(), 8, got, 1, every_second, previous_rank(), 8,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int is_right = 1;
    for (int i = 0; i < count; ++i)
      is_right = is_right && got[2 * i] == previous_rank() * 1000 + turn + i && got[2 * i + 1] == 0;
    CHECK(is_right);
  }
  MPI_Type_free(&every_second);
  free(sent);
  free(got);
}

int main(int argc, char** argv) {
  out = malloc(bytes_each + 300000);
  in = malloc(bytes_each + 300000);
  const struct Section sections[] = {{"sender_in_the_mpi", sender_in_the_mpi},
                                     {"receiver_in_the_mpi", receiver_in_the_mpi},
                                     {"both_ways", both_ways},
                                     {"other_kinds", other_kinds},
                                     {"with_gaps", with_gaps},
                                     {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
