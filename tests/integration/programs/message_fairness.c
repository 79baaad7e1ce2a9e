// SPDX-License-Identifier: BSD-3-Clause
// Functions that complete one of several requests: one that is over is completed some time, though those in
// front of it are over again at once, whosever they are.
#include "messages.inc"

enum { kinds = 6, most_calls = 100000 };

static int call(int is_test, int count, MPI_Request* requests) {
  int index = -1, flag = 1;
  if (is_test) {
    MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
  } else {
    MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
  }
  return flag ? index : -1;
}

// A send to oneself is over at once, and so is its receive.
static void start(MPI_Request* request, int tag) {
  static int values[2 * kinds];
  MPI_Request sending;
  MPI_Irecv(&values[tag], 1, MPI_INT, 0, tag, MPI_COMM_SELF, request);
  MPI_Isend(&rank, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &sending);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int nothing(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int nothing_too(void* state, int is_complete) {
  (void)state;
  (void)is_complete;
  return MPI_SUCCESS;
}
// The MPI's own, and over.
static void start_hosts(MPI_Request* request) {
  MPI_Grequest_start(query, nothing, nothing_too, NULL, request);
  MPI_Grequest_complete(*request);
}

// `again` are started again as soon as they are completed; all others must be completed as well.
static void all_come(int is_test, const int* is_hosts, int again) {
  MPI_Request requests[kinds];
  int left = 0;
  for (int i = 0; i < kinds; ++i) {
    if (is_hosts[i]) {
      start_hosts(&requests[i]);
    } else {
      start(&requests[i], i);
    }
    left += i >= again;
  }
  int calls = 0, undone = left;
  while (undone > 0 && calls++ < most_calls) {
    const int index = call(is_test, kinds, requests);
    if (index < 0) continue;
    if (index >= again) {
      --undone;
    } else if (is_hosts[index]) {
      start_hosts(&requests[index]);
    } else {
      start(&requests[index], index);
    }
  }
  CHECK(undone == 0);
  MPI_Waitall(kinds, requests, MPI_STATUSES_IGNORE);
}

static void own_ones(void) {
  const int is_hosts[kinds] = {0, 0, 0, 0, 0, 0};
  for (int is_test = 0; is_test < 2; ++is_test) {
    all_come(is_test, is_hosts, 1);
    all_come(is_test, is_hosts, 3);
  }
}

// Among those that are started again there is one of Unisono's: else the rest may be the MPI's alone, and
// MPIs take the first one.
static void mixed_ones(void) {
  const struct {
    int is_hosts[kinds], again;
  } orders[] = {{{0, 1, 0, 1, 0, 1}, 1}, {{0, 1, 0, 1, 0, 1}, 3}, {{1, 0, 1, 0, 1, 0}, 2},
                {{1, 1, 0, 1, 0, 0}, 3}, {{0, 0, 0, 1, 1, 1}, 2}, {{1, 1, 1, 0, 0, 0}, 4}};
  for (int is_test = 0; is_test < 2; ++is_test) {
    for (int i = 0; i < 6; ++i) all_come(is_test, orders[i].is_hosts, orders[i].again);
  }
}

// Two arrays in turn.
static void two_arrays(void) {
  MPI_Request a[2], b[2];
  for (int i = 0; i < 2; ++i) {
    start(&a[i], i);
    start(&b[i], 2 + i);
  }
  int calls = 0, undone = 2;
  while (undone > 0 && calls++ < most_calls) {
    const int of_a = call(0, 2, a), of_b = call(0, 2, b);
    undone -= of_a == 1;
    undone -= of_b == 1;
    if (of_a == 0) start(&a[0], 0);
    if (of_b == 0) start(&b[0], 2);
  }
  CHECK(undone == 0);
  MPI_Waitall(2, a, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, b, MPI_STATUSES_IGNORE);
}

// A program that asks few times gets the first one each time, as MPIs do and test suites expect.
static void first_ones(void) {
  for (int turn = 0; turn < 100; ++turn) {
    MPI_Request requests[kinds];
    for (int i = 0; i < kinds; ++i) start(&requests[i], i);
    for (int i = 0; i < kinds; ++i) CHECK(call(turn % 2, kinds, requests) == i);
    CHECK(call(turn % 2, kinds, requests) == MPI_UNDEFINED);
  }
}

int main(int argc, char** argv) {
  const struct Section sections[] = {
      {"first", first_ones}, {"own", own_ones}, {"mixed", mixed_ones}, {"arrays", two_arrays}, {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
