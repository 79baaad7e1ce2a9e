// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block, and threads of the program. Its operators take locks that it holds around its
// calls, or that another thread holds while it starts one. And a call is computed as the thread that made it
// computes. Prints "LEVEL n" where the MPI does not provide MPI_THREAD_MULTIPLE: then the locks are left out.
// With the argument "one" only those locks that two threads want are left out. It is for an MPI that holds a
// lock of its own around operators.
#include <fenv.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { elements = 500, turns = 4 };

static int rank, size;
static pthread_mutex_t lock;
static volatile int is_in_operator;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void add_under_lock(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  is_in_operator = 1;
  usleep(5000);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  pthread_mutex_unlock(&lock);
}

// One thread holds a lock that it may take twice from the start of the call until it is over.
static void lock_around_calls(MPI_Op op) {
  int in[elements], out[elements];
  for (int i = 0; i < elements; ++i) in[i] = i;
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Request request;
    pthread_mutex_lock(&lock);
    MPI_Iallreduce(in, out, elements, MPI_INT, op, MPI_COMM_WORLD, &request);
    usleep(20000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
    expect(out[elements - 1] == (elements - 1) * size, "a sum under a lock is wrong");
  }
}

static void* start_under_lock(void* unused) {
  int one = 1, sum = 0;
  MPI_Request request;
  while (!is_in_operator) usleep(100);
  pthread_mutex_lock(&lock);
  usleep(10000);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
  pthread_mutex_unlock(&lock);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == 1, "a sum of one rank is wrong");
  return unused;
}

// The operator waits for a lock that a second thread holds while it starts a call of its own.
static void lock_around_starts(MPI_Op op) {
  int sum = 0;
  pthread_t second;
  MPI_Request request;
  is_in_operator = 0;
  pthread_create(&second, NULL, start_under_lock, NULL);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == size * (size - 1) / 2, "a sum of ranks is wrong");
  is_in_operator = 1;  // where the MPI has called it on other ranks alone
  pthread_join(second, NULL);
}

// Long enough away for others than the program's thread to compute.
static void round_upward(void) {
  double in[elements], out[elements];
  for (int i = 0; i < elements; ++i) in[i] = rank == 0 ? 1.0 : 1e-30;
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Request request;
    if (turn > 0) fesetround(FE_UPWARD);
    MPI_Iallreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    usleep(30000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(fegetround() == (turn > 0 ? FE_UPWARD : FE_TONEAREST), "the rounding mode has changed");
    fesetround(FE_TONEAREST);
    for (int i = 0; i < elements; ++i) expect((out[i] > 1.0) == (turn > 0), "a sum is rounded otherwise");
  }
}

int main(int argument_count, char** arguments) {
  int provided;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  round_upward();
  if (provided == MPI_THREAD_MULTIPLE) {
    pthread_mutexattr_t twice;
    pthread_mutexattr_init(&twice);
    pthread_mutexattr_settype(&twice, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &twice);
    MPI_Op op;
    MPI_Op_create(add_under_lock, 1, &op);
    lock_around_calls(op);
    if (argument_count < 2) lock_around_starts(op);
    MPI_Op_free(&op);
  } else if (rank == 0) {
    printf("LEVEL %d\n", provided);
  }
  if (rank == 0) puts("OK");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
