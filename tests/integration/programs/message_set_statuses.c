// SPDX-License-Identifier: BSD-3-Clause
// A program sets what statuses say that it got of messages: elements, bytes beyond an int, cancelled or not.
// The next message says its own again.
#include "messages.inc"

static void send_to_next(int bytes, MPI_Request* request) {
  static unsigned char out[5000];
  MPI_Isend(out, bytes, MPI_BYTE, next_rank(), bytes, MPI_COMM_WORLD, request);
}
static void receive(int bytes, MPI_Status* status) {
  static unsigned char in[5000];
  MPI_Request request;
  send_to_next(bytes, &request);
  MPI_Recv(in, sizeof in, MPI_BYTE, previous_rank(), bytes, MPI_COMM_WORLD, status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_status(status, previous_rank(), bytes, bytes);
}

// The rest stays as it was.
static void check_set(MPI_Status* status, int tag, MPI_Datatype type, int elements, int is_cancelled) {
  int count = -1, cancelled = -1;
  MPI_Get_elements(status, type, &count);
  MPI_Test_cancelled(status, &cancelled);
  CHECK(count == elements && cancelled == is_cancelled);
  CHECK(status->MPI_SOURCE == previous_rank() && status->MPI_TAG == tag);
}

static void elements(void) {
  MPI_Status status;
  MPI_Datatype pairs;
  MPI_Type_contiguous(2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  for (int bytes = 1; bytes < 5000; bytes = 2 * bytes + 1) {
    receive(bytes, &status);
    MPI_Status_set_elements(&status, MPI_INT, 3);
    check_set(&status, bytes, MPI_INT, 3, 0);
    // In whole pairs there is no such number.
    int count = -1;
    MPI_Get_count(&status, pairs, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Status_set_elements(&status, MPI_INT, 4);
    check_set(&status, bytes, pairs, 4, 0);
    MPI_Get_count(&status, pairs, &count);
    CHECK(count == 2);
    receive(0, &status);
  }
  MPI_Type_free(&pairs);
}

static void beyond_int(void) {
  const MPI_Count many = ((MPI_Count)1 << 33) + 5;
  MPI_Status status;
  MPI_Count count = -1;
  receive(265, &status);
  MPI_Status_set_elements_x(&status, MPI_BYTE, many);
  MPI_Get_elements_x(&status, MPI_BYTE, &count);
  CHECK(count == many);
  check_set(&status, 265, MPI_BYTE, MPI_UNDEFINED, 0);
  receive(40, &status);
}

static void cancelled(void) {
  MPI_Status status;
  for (int is_set = 1; is_set >= 0; --is_set) {
    receive(41, &status);
    MPI_Status_set_cancelled(&status, is_set);
    check_set(&status, 41, MPI_BYTE, 41, is_set);
  }
  // A receive that was cancelled, and is said not to be.
  MPI_Request request;
  int value = 0;
  MPI_Irecv(&value, 1, MPI_INT, previous_rank(), 99, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  int is_cancelled = 0;
  MPI_Test_cancelled(&status, &is_cancelled);
  CHECK(is_cancelled);
  MPI_Status_set_cancelled(&status, 0);
  MPI_Status_set_elements(&status, MPI_INT, 1);
  MPI_Test_cancelled(&status, &is_cancelled);
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(!is_cancelled && count == 1);
}

// Of probes, matched ones, and of requests in arrays.
static void of_all_kinds(void) {
  MPI_Request requests[2];
  MPI_Status status, statuses[2];
  MPI_Message message;
  int value[4], flag = 0;
  send_to_next(16, &requests[0]);
  MPI_Probe(previous_rank(), 16, MPI_COMM_WORLD, &status);
  check_status(&status, previous_rank(), 16, 16);
  MPI_Status_set_elements(&status, MPI_INT, 1);
  check_set(&status, 16, MPI_INT, 1, 0);
  while (!flag) MPI_Improbe(previous_rank(), 16, MPI_COMM_WORLD, &flag, &message, &status);
  check_status(&status, previous_rank(), 16, 16);
  MPI_Status_set_cancelled(&status, 1);
  MPI_Mrecv(value, 4, MPI_INT, &message, &status);
  check_status(&status, previous_rank(), 16, 16);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Irecv(value, 4, MPI_INT, previous_rank(), 8, MPI_COMM_WORLD, &requests[0]);
  send_to_next(8, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  check_status(&statuses[0], previous_rank(), 8, 8);
  MPI_Status_set_elements(&statuses[0], MPI_BYTE, 5);
  check_set(&statuses[0], 8, MPI_BYTE, 5, 0);
}

int main(int argc, char** argv) {
  const struct Section sections[] = {{"elements", elements},
                                     {"beyond_int", beyond_int},
                                     {"cancelled", cancelled},
                                     {"of_all_kinds", of_all_kinds},
                                     {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
