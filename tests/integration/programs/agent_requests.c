// SPDX-License-Identifier: BSD-3-Clause
// Requests of calls that agents go on with, among those of messages, completed in each way that MPI has:
//   agent_requests ROUNDS
// With MPI_THREAD_SINGLE. What has ended is the program's: it writes there at once, and finds that later.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most_calls = 10, most_requests = most_calls + 3, most_elements = 40, ways = 9 };

static int rank, size, round_number;
static unsigned long long state = 99;
static double in[most_calls][most_elements], out[most_calls][most_elements];
static int counts[most_calls], kinds[most_calls];
static MPI_Request requests[most_requests];
static int is_over[most_requests];  // by the program's places

static int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)below);
}

static void expect(int is_right, const char* what, int i) {
  if (is_right) return;
  fprintf(stderr, "rank %d, round %d, request %d: %s\n", rank, round_number, i, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double expected(int call, int i) {
  if (kinds[call] == 0) return size * (double)(round_number + call + i) + size * (size - 1) / 2.0;
  return kinds[call] == 1 ? round_number + call + i : -5;  // a broadcast of rank 0, a barrier
}

static void begin(int call, MPI_Comm comm, MPI_Request* request) {
  kinds[call] = draw(3);
  counts[call] = draw(4) == 0 ? most_elements : 1 + draw(6);
  for (int i = 0; i < most_elements; ++i) {
    in[call][i] = round_number + call + i + rank;
    out[call][i] = kinds[call] == 1 && rank == 0 ? in[call][i] : -5;
  }
  if (kinds[call] == 0)
    MPI_Iallreduce(in[call], out[call], counts[call], MPI_DOUBLE, MPI_SUM, comm, request);
  else if (kinds[call] == 1)
    MPI_Ibcast(out[call], counts[call], MPI_DOUBLE, 0, comm, request);
  else
    MPI_Ibarrier(comm, request);
}

// Request i has ended; `status` is its own, or null.
static void ended(int i, int calls, const MPI_Status* status) {
  expect(requests[i] == MPI_REQUEST_NULL, "is not null", i);
  expect(!is_over[i]++, "ended twice", i);
  int bytes = -1;
  if (status != NULL) MPI_Get_count(status, MPI_BYTE, &bytes);
  if (i == calls) expect(status == NULL || (status->MPI_TAG == 3 && bytes == 4), "a wrong status", i);
  if (i >= calls) return;
  expect(status == NULL || bytes == 0, "has a length", i);
  for (int k = 0; k < counts[i]; ++k) {
    expect(out[i][k] == expected(i, k), "a wrong result", i);
    out[i][k] = -1e9 - k;
  }
}

static void complete(int way, int calls, int count) {
  MPI_Status statuses[most_requests], *status = draw(2) ? statuses : NULL;
  MPI_Status* given = status == NULL ? MPI_STATUS_IGNORE : statuses;
  MPI_Status* all_given = status == NULL ? MPI_STATUSES_IGNORE : statuses;
  int places[most_requests], found = 0, flag = 0, index = 0;
  if (way == 0) {
    for (int i = count; i-- > 0; ended(i, calls, status)) MPI_Wait(&requests[i], given);
  } else if (way == 1) {
    for (int i = 0; i < count; ++i, flag = 0) {
      while (!flag) MPI_Test(&requests[i], &flag, given);
      ended(i, calls, status);
    }
  } else if (way == 2 || way == 3) {
    if (way == 2) MPI_Waitall(count, requests, all_given);
    while (way == 3 && !flag) MPI_Testall(count, requests, &flag, all_given);
    for (int i = 0; i < count; ++i) ended(i, calls, status == NULL ? NULL : &statuses[i]);
  } else if (way == 4 || way == 5) {
    for (int left = count; left > 0; flag = 0) {
      if (way == 4) MPI_Waitany(count, requests, &index, given);
      while (way == 5 && !flag) MPI_Testany(count, requests, &index, &flag, given);
      ended(index, calls, status);
      --left;
    }
  } else if (way == 6 || way == 7) {
    for (int left = count; left > 0; left -= found) {
      if (way == 6) MPI_Waitsome(count, requests, &found, places, all_given);
      if (way == 7) MPI_Testsome(count, requests, &found, places, all_given);
      for (int k = 0; k < found; ++k) ended(places[k], calls, status == NULL ? NULL : &statuses[k]);
    }
  } else {
    for (int i = 0; i < count; ++i, flag = 0) {
      while (!flag) MPI_Request_get_status(requests[i], &flag, given);
      MPI_Wait(&requests[i], given);
      ended(i, calls, status);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(comm);
  for (round_number = 0; round_number < rounds; ++round_number) {
    // All ranks draw the same.
    const int calls = 1 + draw(draw(3) == 0 ? most_calls : 3), way = draw(ways), is_slow = draw(2);
    const int has_message = draw(2), is_freed = draw(8) == 0;
    int count = calls, message = 7 * round_number, got = -1;
    for (int i = 0; i < calls; ++i) begin(i, draw(4) == 0 ? comm : MPI_COMM_WORLD, &requests[i]);
    if (has_message) {
      MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(&message, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[count++]);
    }
    if (is_freed) {
      MPI_Request freed;
      MPI_Ibarrier(comm, &freed);
      MPI_Request_free(&freed);
      expect(freed == MPI_REQUEST_NULL, "is not null", -1);
    }
    for (int i = 0; i < count; ++i) is_over[i] = 0;
    const struct timespec time = {0, 200000};
    if (is_slow) nanosleep(&time, NULL);
    complete(way, calls, count);
    expect(!has_message || got == message, "a wrong message", calls);
    if (draw(6) == 0) {
      MPI_Comm_free(&comm);
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Barrier(comm);
    } else if (draw(4) == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < calls; ++i) {
      for (int k = 0; k < counts[i]; ++k) expect(out[i][k] == -1e9 - k, "was written to after its end", i);
    }
  }
  MPI_Comm_free(&comm);
  // The last one is never asked for again.
  begin(0, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  if (rank == 0) printf("OK\n");
  MPI_Finalize();
  return 0;
}
