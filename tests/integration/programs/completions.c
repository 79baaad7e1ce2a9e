// SPDX-License-Identifier: BSD-3-Clause
// What the functions that complete requests say where some have failed (MPI 4.1, sections 3.7.5 and 9.3). On
// rank 1 a broadcast has more data than there is room for, a sum is well, and a receive is too short. Both
// failures are told with their classes, each once, whichever of them the MPI knows of.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { broadcast, sum, receive, nothing, kinds };
enum { all, some, any, ways };
static int rank, wrong, turn;
static int is_broadcast_short, is_receive_short, is_test, is_ignoring;
static MPI_Comm comms[3];
static MPI_Request requests[kinds];
static MPI_Status statuses[kinds];
static int data[3][8], own, summed;

static void expect(int is_right, const char* what) {
  if (!is_right && wrong++ < 20)
    fprintf(stderr, "rank %d: %s (turn %d, broadcast %d, receive %d, test %d, ignoring %d)\n", rank, what,
            turn, is_broadcast_short, is_receive_short, is_test, is_ignoring);
}

// The order of the requests differs from turn to turn.
static int kind_of(int index) {
  return (index + turn) % kinds;
}

static void start_all(void) {
  own = 1, summed = 0;
  for (int i = 0; i < kinds; ++i) {
    MPI_Request* request = &requests[i];
    *request = MPI_REQUEST_NULL;
    // The data come when rank 1 waits for them: else the call itself would say what is wrong.
    if (kind_of(i) == broadcast && rank == 0)
      MPI_Recv(NULL, 0, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (kind_of(i) == broadcast)
      MPI_Ibcast(data[0], rank == 1 && is_broadcast_short ? 4 : 8, MPI_INT, 0, comms[broadcast], request);
    if (kind_of(i) == broadcast && rank == 1) MPI_Send(NULL, 0, MPI_INT, 0, 8, MPI_COMM_WORLD);
    if (kind_of(i) == sum) MPI_Iallreduce(&own, &summed, 1, MPI_INT, MPI_SUM, comms[sum], request);
    if (kind_of(i) == receive && rank == 0) MPI_Isend(data[1], 8, MPI_INT, 1, 7, comms[receive], request);
    if (kind_of(i) == receive && rank == 1)
      MPI_Irecv(data[2], is_receive_short ? 4 : 8, MPI_INT, 0, 7, comms[receive], request);
  }
}

// Until all of them are over; the program hears of none by that. (MPICH tells of errors here as well.)
static void let_all_end(void) {
  for (int i = 0; i < kinds; ++i) {
    int flag = requests[i] == MPI_REQUEST_NULL;
    while (flag == 0 && MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
    }
  }
}

static int has_failed(int index) {
  return rank == 1 && ((kind_of(index) == broadcast && is_broadcast_short) ||
                       (kind_of(index) == receive && is_receive_short));
}

// `error` of the request at `index`.
static void expect_error(int index, int error) {
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  expect(class == (has_failed(index) ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "the error of a request");
  expect(requests[index] == MPI_REQUEST_NULL, "a request is left");
}

// `count` requests at once, at the places `which` (null: all of them).
static void expect_errors(int count, const int* which, int result) {
  int has_any = 0;
  for (int i = 0; i < count; ++i) has_any |= has_failed(which == NULL ? i : which[i]);
  expect(result == (has_any ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "the error of the whole");
  for (int i = 0; i < count; ++i) {
    const int index = which == NULL ? i : which[i];
    // Of a success the statuses' errors say nothing, nor where there are no statuses.
    // (Intel MPI leaves the error of a null request's status as it was.)
    const int is_told = result != MPI_SUCCESS && !is_ignoring && kind_of(index) != nothing;
    expect_error(index, is_told ? statuses[i].MPI_ERROR : has_failed(index) ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  }
}

static void complete(int way) {
  MPI_Status* told = is_ignoring ? MPI_STATUSES_IGNORE : statuses;
  MPI_Status* one = is_ignoring ? MPI_STATUS_IGNORE : statuses;
  int flag = 0, count = 0, which[kinds], index = -1, result = MPI_SUCCESS;
  memset(statuses, 0x55, sizeof statuses);
  if (way == all) {
    result = is_test ? MPI_Testall(kinds, requests, &flag, told) : MPI_Waitall(kinds, requests, told);
    expect(flag == is_test, "the flag of all");
    expect_errors(kinds, NULL, result);
  } else if (way == some) {
    result = is_test ? MPI_Testsome(kinds, requests, &count, which, told)
                     : MPI_Waitsome(kinds, requests, &count, which, told);
    expect(count == 3, "the count of some");
    if (count == 3) expect_errors(count, which, result);
  } else {
    for (int seen = 0, n = 0; n < 3; ++n) {
      result = is_test ? MPI_Testany(kinds, requests, &index, &flag, one)
                       : MPI_Waitany(kinds, requests, &index, one);
      expect(flag == is_test && index >= 0 && index < kinds && (seen >> index & 1) == 0, "the index of any");
      if (index < 0 || index >= kinds) break;
      seen |= 1 << index;
      expect_error(index, result);
    }
  }
  for (int i = 0; i < kinds; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void make_comm(int kind) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[kind]);
  MPI_Comm_set_errhandler(comms[kind], MPI_ERRORS_RETURN);
  MPI_Barrier(comms[kind]);
}

static void run(int way) {
  make_comm(broadcast);  // a new one each time, since of data that do not fit something may be left
  start_all();
  let_all_end();
  complete(way);
  expect(summed == 2, "the sum");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&comms[broadcast]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Some MPIs tell these of errors of several requests.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  make_comm(sum), make_comm(receive);
  for (turn = 0; turn < kinds; turn += 2) {
    for (int bits = 0; bits < 16; ++bits) {
      is_broadcast_short = bits & 1, is_receive_short = bits >> 1 & 1;
      is_test = bits >> 2 & 1, is_ignoring = bits >> 3;
      // The MPI alone has its own ways: Open MPI 5 says success where there are no statuses.
      if (is_receive_short && !is_broadcast_short) continue;
      if (turn != 0 && !is_broadcast_short) continue;
      for (int way = 0; way < ways; ++way) run(way);
    }
  }
  MPI_Comm_free(&comms[sum]), MPI_Comm_free(&comms[receive]);
  int sum_of_wrong = 0;
  MPI_Allreduce(&wrong, &sum_of_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(sum_of_wrong == 0 ? "OK" : "WRONG");
  fflush(stdout);
  MPI_Finalize();
  return sum_of_wrong != 0;
}
