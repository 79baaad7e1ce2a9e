// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end of MPI: MPI 4.1, sections 11.2.3, 11.2.4, 11.4.2 and 11.6. It looks at what may
// be asked before MPI_Init and after MPI_Finalize, and at threads of levels below MPI_THREAD_MULTIPLE. It
// looks at attributes of MPI_COMM_SELF at the end, and at MPI_Abort. The argument says the level that is
// asked for, or where MPI_Abort is called:
// - funneled, serialized: the level.
// - inside: in a user-defined operator of a reduction.
// - outside: outside of calls, while others are in a barrier.
//
// Prints what the MPI alone should print as well.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { abort_code = 7, threads = 2, turns = 30, attributes = 4 };

static int rank, size, wrong, provided;

static void check(int is_right, const char* what) {
  if (is_right || wrong++ >= 5) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
}

static void use(MPI_Comm comm, const char* when) {
  int one = 1, sum = 0, count = 0, last = rank;
  MPI_Comm_size(comm, &count);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Bcast(&last, 1, MPI_INT, count - 1, comm);
  check(sum == count && (count == 1 || last == count - 1), when);
}

static void check_states(int is_initialized, int is_finalized, const char* when) {
  int initialized = -1, finalized = -1;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  check((initialized != 0) == is_initialized && (finalized != 0) == is_finalized, when);
}

// --- Attributes of MPI_COMM_SELF: the last one that was set goes first, before anything else of MPI ends ---

static int keys[attributes], values[attributes], deleted[attributes], deletions;

static int delete_attribute(MPI_Comm comm, int key, void* value, void* state) {
  (void)key, (void)state;
  check_states(1, 0, "states in a delete callback");
  use(comm, "sum of MPI_COMM_SELF in MPI_Finalize");
  use(MPI_COMM_WORLD, "sum of MPI_COMM_WORLD in MPI_Finalize");
  if (deletions < attributes) deleted[deletions++] = *(int*)value;
  return MPI_SUCCESS;
}

static void set_attributes(void) {
  static const int order[attributes] = {2, 0, 3, 1};  // other than that of the keys
  for (int i = 0; i < attributes; ++i)
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &keys[i], NULL);
  for (int i = 0; i < attributes; ++i) {
    values[i] = i;
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[order[i]], &values[i]);
  }
}

// --- Threads ---

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_changed = PTHREAD_COND_INITIALIZER;
static int turns_done;
static volatile int is_over;
static long counted;

static void* count(void* state) {
  (void)state;
  int is_main = -1;
  if (provided >= MPI_THREAD_SERIALIZED) MPI_Is_thread_main(&is_main);
  check(is_main <= 0, "MPI_Is_thread_main of another thread");
  while (!is_over) ++counted, usleep(100);
  return NULL;
}

// In all ranks the same thread has its turn, and one at a time is in MPI.
static void* take_turns(void* number) {
  for (;;) {
    pthread_mutex_lock(&turn);
    while (turns_done < turns && turns_done % threads != *(int*)number)
      pthread_cond_wait(&has_changed, &turn);
    const int is_done = turns_done == turns;
    if (!is_done) {
      use(MPI_COMM_WORLD, "sum of threads that take turns");
      MPI_Request request;
      int one = 1, sum = 0;
      MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check(sum == size, "sum of a call that does not block");
      ++turns_done;
    }
    pthread_cond_broadcast(&has_changed);
    pthread_mutex_unlock(&turn);
    if (is_done) return NULL;
  }
}

static void use_threads(int level) {
  pthread_t others[threads];
  int numbers[threads];
  if (level == MPI_THREAD_FUNNELED || provided < MPI_THREAD_SERIALIZED) {
    pthread_create(&others[0], NULL, count, NULL);
    for (int i = 0; i < turns; ++i) use(MPI_COMM_WORLD, "sum beside a thread");
    is_over = 1;
    pthread_join(others[0], NULL);
    return;
  }
  for (int i = 0; i < threads; ++i) numbers[i] = i, pthread_create(&others[i], NULL, take_turns, &numbers[i]);
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
}

static int start_and_end(int level, int* argc, char*** argv) {
  int asked = -1, is_main = -1;
  check_states(0, 0, "states before MPI_Init");
  MPI_Init_thread(argc, argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_states(1, 0, "states after MPI_Init");
  MPI_Query_thread(&asked);
  MPI_Is_thread_main(&is_main);
  check(asked == provided && is_main == 1, "answers on threads");
  set_attributes();
  use_threads(level);
  if (rank == 0) printf("provided: %s what was asked for\n", provided >= level ? "at least" : "less than");
  fflush(stdout);
  MPI_Finalize();
  check_states(1, 1, "states after MPI_Finalize");
  check(deletions == attributes, "number of deletions");
  for (int i = 0; i < attributes; ++i) check(deleted[i] == attributes - 1 - i, "order of deletions");
  if (rank == 0 && wrong == 0) puts("OK");
  return wrong != 0;
}

// --- MPI_Abort ---

// Where the host returns before the launcher has ended this process, as MPICH's does.
static void abort_and_wait(void) {
  MPI_Abort(MPI_COMM_WORLD, abort_code);
  for (;;) pause();
}

static void abort_job(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
  abort_and_wait();
}

static void end_by_abort(int is_inside, int* argc, char*** argv) {
  MPI_Op op;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op_create(abort_job, 1, &op);
  for (int i = 0; i < turns; ++i) use(MPI_COMM_WORLD, "sum before the end");
  if (is_inside) {
    int in[2000] = {0}, out[2000];
    MPI_Allreduce(in, out, 2000, MPI_INT, op, MPI_COMM_WORLD);
  } else if (rank == size - 1) {
    abort_and_wait();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  puts("went on");
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "funneled";
  if (strcmp(mode, "inside") == 0 || strcmp(mode, "outside") == 0) {
    end_by_abort(strcmp(mode, "inside") == 0, &argc, &argv);
    return 0;
  }
  const int level = strcmp(mode, "funneled") == 0 ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED;
  return start_and_end(level, &argc, &argv);
}
