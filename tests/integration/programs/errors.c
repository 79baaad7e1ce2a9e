// SPDX-License-Identifier: BSD-3-Clause
// Errors of collectives under MPI_ERRORS_RETURN and under handlers of the program's: MPI 4.1, sections 6.1
// and 9.3. Prints what the MPI alone should print as well: of each call which ranks had an error, and of
// which class it was on rank 0. Everything after an error must be right.
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static int rank, size, wrong;
static MPI_Comm comm;  // of one call, with errors returned

static void begin_call(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

static void use(MPI_Comm used) {
  for (int i = 0; i < 10; ++i) {
    int one = 1, sum = 0, last = rank == size - 1 ? i : -1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, used);
    MPI_Bcast(&last, 1, MPI_INT, size - 1, used);
    if ((sum != size || last != i) && wrong++ < 5) fprintf(stderr, "rank %d: %d of %d\n", rank, sum, size);
  }
}

static void end_call(const char* name, int error) {
  char mine = error == MPI_SUCCESS ? '.' : 'E', all[64] = "";
  int class = 0;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  use(comm);
  MPI_Allgather(&mine, 1, MPI_CHAR, all, 1, MPI_CHAR, MPI_COMM_WORLD);
  // What others have sent to a root that failed may lie there: such a communicator's number must not come
  // again.
  if (strchr(all, '.') == NULL || strchr(all, 'E') == NULL) MPI_Comm_free(&comm);
  const char* what = class == MPI_SUCCESS        ? "none"
                     : class == MPI_ERR_TYPE     ? "type"
                     : class == MPI_ERR_COUNT    ? "count"
                     : class == MPI_ERR_BUFFER   ? "buffer"
                     : class == MPI_ERR_OP       ? "operator"
                     : class == MPI_ERR_TRUNCATE ? "truncate"
                                                 : "other";
  if (rank == 0) printf("%-28s %.*s %s\n", name, size, all, what);
  fflush(stdout);
}

#define CALL(name, call)    \
  do {                      \
    begin_call();           \
    end_call(name, (call)); \
  } while (0)

static MPI_Request request;
static int and_wait(int error) {
  return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Send and receive buffers that are the same, of all ranks or of the root.
static void aliases(void) {
  int b[256] = {0}, n[64], d[64], bytes[64], m[64];
  MPI_Datatype t[64];
  for (int i = 0; i < size; ++i) n[i] = m[i] = 2, d[i] = 2 * i, t[i] = MPI_INT, bytes[i] = 8 * i;
  int* own = &b[2 * rank];
  CALL("allgather", MPI_Allgather(own, 2, MPI_INT, b, 2, MPI_INT, comm));
  CALL("iallgather", and_wait(MPI_Iallgather(own, 2, MPI_INT, b, 2, MPI_INT, comm, &request)));
  CALL("allgatherv", MPI_Allgatherv(own, 2, MPI_INT, b, n, d, MPI_INT, comm));
  CALL("iallgatherv", and_wait(MPI_Iallgatherv(own, 2, MPI_INT, b, n, d, MPI_INT, comm, &request)));
  CALL("alltoall", MPI_Alltoall(b, 2, MPI_INT, b, 2, MPI_INT, comm));
  CALL("ialltoall", and_wait(MPI_Ialltoall(b, 2, MPI_INT, b, 2, MPI_INT, comm, &request)));
  CALL("alltoallv", MPI_Alltoallv(b, n, d, MPI_INT, b, n, d, MPI_INT, comm));
  CALL("alltoallw", MPI_Alltoallw(b, n, bytes, t, b, n, bytes, t, comm));
  CALL("allreduce", MPI_Allreduce(b, b, 2, MPI_INT, MPI_SUM, comm));
  CALL("allreduce of nothing", MPI_Allreduce(b, b, 0, MPI_INT, MPI_SUM, comm));
  CALL("iallreduce", and_wait(MPI_Iallreduce(b, b, 2, MPI_INT, MPI_SUM, comm, &request)));
  CALL("reduce_scatter", MPI_Reduce_scatter(b, b, n, MPI_INT, MPI_SUM, comm));
  CALL("reduce_scatter_block", MPI_Reduce_scatter_block(b, b, 2, MPI_INT, MPI_SUM, comm));
  CALL("scan", MPI_Scan(b, b, 2, MPI_INT, MPI_SUM, comm));
  CALL("exscan", MPI_Exscan(b, b, 2, MPI_INT, MPI_SUM, comm));
  CALL("iexscan", and_wait(MPI_Iexscan(b, b, 2, MPI_INT, MPI_SUM, comm, &request)));
  CALL("gather", MPI_Gather(own, 2, MPI_INT, b, 2, MPI_INT, 0, comm));
  // Buffers that have nothing to do with each other, one beginning where the other's block would end.
  int apart[256] = {0};
  CALL("allgather apart", MPI_Allgather(&apart[2 * size], 2, MPI_INT, apart, 2, MPI_INT, comm));
}

// The root alone gives what its MPI rejects: the others send to it, and go on.
static void alone(void) {
  int x[4] = {1, 2, 3, 4}, y[256];
  CALL("gather, count", MPI_Gather(x, 1, MPI_INT, y, rank == 0 ? -1 : 1, MPI_INT, 0, comm));
  CALL("gather, type", MPI_Gather(x, 4, MPI_INT, y, 4, rank == 0 ? MPI_DATATYPE_NULL : MPI_INT, 0, comm));
  CALL("ibcast, count", and_wait(MPI_Ibcast(x, -1, MPI_INT, 0, comm, &request)));
}

static void alone_with_blocks(void) {
  int x[4] = {1, 2, 3, 4}, y[256], n[64], d[64];
  for (int i = 0; i < size; ++i) n[i] = 2, d[i] = 3 * i;
  MPI_Datatype type = rank == 0 ? MPI_DATATYPE_NULL : MPI_INT;
  CALL("gatherv, type", MPI_Gatherv(x, 2, MPI_INT, y, n, d, type, 0, comm));
}

// One rank alone has no buffer: the root that gets, or one that the root sends to.
static void nowhere(void) {
  int x[256] = {1, 2, 3, 4}, y[256], n[64], d[64];
  for (int i = 0; i < size; ++i) n[i] = 2, d[i] = 3 * i;
  int* at_root = rank == 0 ? NULL : y;
  int* at_other = rank == 1 ? NULL : y;
  CALL("gather from nowhere", MPI_Gather(rank == 0 ? NULL : x, 2, MPI_INT, y, 2, MPI_INT, 0, comm));
  CALL("gather", MPI_Gather(x, 2, MPI_INT, at_root, 2, MPI_INT, 0, comm));
  CALL("gatherv", MPI_Gatherv(x, 2, MPI_INT, at_root, n, d, MPI_INT, 0, comm));
  CALL("scatter", MPI_Scatter(x, 2, MPI_INT, at_other, 2, MPI_INT, 0, comm));
  CALL("scatterv", MPI_Scatterv(x, n, d, MPI_INT, at_other, 2, MPI_INT, 0, comm));
}

static void uncommitted(void) {
  int b[512] = {0}, o[512] = {0}, n[64], d[64];
  MPI_Datatype type, types[64], ints[64];
  MPI_Type_vector(4, 1, 2, MPI_INT, &type);
  for (int i = 0; i < size; ++i) n[i] = 1, d[i] = 32 * i, types[i] = type, ints[i] = MPI_INT;
  CALL("bcast", MPI_Bcast(b, 1, type, 0, comm));
  CALL("ibcast", and_wait(MPI_Ibcast(b, 1, type, 0, comm, &request)));
  CALL("allgather", MPI_Allgather(b, 1, type, o, 4, MPI_INT, comm));
  CALL("iallgather", and_wait(MPI_Iallgather(b, 1, type, o, 4, MPI_INT, comm, &request)));
  CALL("gather", MPI_Gather(b, 1, type, o, 4, MPI_INT, 0, comm));
  CALL("alltoall", MPI_Alltoall(b, 1, type, o, 1, type, comm));
  CALL("alltoallv", MPI_Alltoallv(b, n, d, type, o, n, d, type, comm));
  CALL("alltoallw", MPI_Alltoallw(b, n, d, types, o, n, d, types, comm));
  CALL("alltoallw of ints", MPI_Alltoallw(b, n, d, ints, o, n, d, ints, comm));
  CALL("allreduce", MPI_Allreduce(b, o, 1, type, MPI_SUM, comm));
  CALL("ireduce_scatter_block",
       and_wait(MPI_Ireduce_scatter_block(b, o, 1, MPI_FLOAT, MPI_BAND, comm, &request)));
  MPI_Type_commit(&type);
  CALL("bcast, committed", MPI_Bcast(b, 1, type, 0, comm));
  MPI_Type_free(&type);
}

// Which operators each named type has: the hosts go beyond section 6.9.2, each its own way.
static void pairs(void) {
  const struct {
    const char* name;
    MPI_Datatype type;
  } types[] = {{"char", MPI_CHAR},
               {"signed char", MPI_SIGNED_CHAR},
               {"wchar", MPI_WCHAR},
               {"byte", MPI_BYTE},
               {"int", MPI_INT},
               {"unsigned", MPI_UNSIGNED},
               {"int64", MPI_INT64_T},
               {"aint", MPI_AINT},
               {"offset", MPI_OFFSET},
               {"count", MPI_COUNT},
               {"double", MPI_DOUBLE},
               {"long double", MPI_LONG_DOUBLE},
               {"c bool", MPI_C_BOOL},
               {"c double complex", MPI_C_DOUBLE_COMPLEX},
               {"double int", MPI_DOUBLE_INT},
               {"2int", MPI_2INT},
               {"integer", MPI_INTEGER},
               {"real", MPI_REAL},
               {"double precision", MPI_DOUBLE_PRECISION},
               {"complex", MPI_COMPLEX},
               {"character", MPI_CHARACTER},
               {"logical", MPI_LOGICAL},
               {"2integer", MPI_2INTEGER},
               {"2real", MPI_2REAL}};
  const MPI_Op operators[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                              MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  const char letters[] = "MmSPaAoOxXLl";
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (unsigned i = 0; i < sizeof types / sizeof *types; ++i) {
    char accepted[13] = "";
    for (int op = 0; op < 12; ++op) {
      char in[64] = {0}, out[64];
      const int error = types[i].type == MPI_DATATYPE_NULL
                            ? MPI_ERR_TYPE
                            : MPI_Allreduce(in, out, 1, types[i].type, operators[op], comm);
      accepted[op] = error == MPI_SUCCESS ? letters[op] : '.';
    }
    if (rank == 0) printf("%-18s %s\n", types[i].name, accepted);
  }
  use(comm);
  MPI_Comm_free(&comm);
}

// --- Handlers of the program's: their calls are calls like others, and they need not return ---

static jmp_buf back;
static int handled, is_to_jump;

static void handle(MPI_Comm* of, int* error, ...) {
  (void)of, (void)error;
  ++handled;
  use(MPI_COMM_WORLD);
  if (is_to_jump) longjmp(back, 1);
}

static int call_and_come_back(int turn) {
  int x = 1, y[64];
  if (setjmp(back) != 0) return 1;
  switch (turn % 4) {
    case 0:
      MPI_Bcast(&x, -1, MPI_INT, 0, comm);
      break;
    case 1:
      MPI_Gather(&x, 1, MPI_INT, y, rank == 0 ? -1 : 1, MPI_INT, 0, comm);
      break;
    case 2:
      MPI_Allgather(&x, -1, MPI_INT, y, -1, MPI_INT, comm);
      break;
    default:
      and_wait(MPI_Ibcast(&x, -1, MPI_INT, 0, comm, &request));
  }
  return 0;
}

static void handlers(void) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  for (int turn = 0; turn < 16; ++turn) {
    is_to_jump = turn / 4 % 2;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (turn >= 8) use(comm);
    MPI_Comm_set_errhandler(comm, handler);
    handled = 0;
    const int has_jumped = call_and_come_back(turn);
    const int is_mine = turn % 4 != 1 || rank == 0;  // else the others do what its handler does
    if (!is_mine) use(MPI_COMM_WORLD);
    if (handled != is_mine || has_jumped != (is_mine && is_to_jump)) ++wrong;
    if (turn % 4 != 1) use(comm);  // gathers of before may still be on their way
    use(MPI_COMM_WORLD);
    if (turn % 4 != 1) MPI_Comm_free(&comm);  // see end_call
  }
  MPI_Errhandler_free(&handler);
}

static void run(const char* mode) {
  if (strcmp(mode, "aliases") == 0) aliases();
  if (strcmp(mode, "alone") == 0) alone();
  if (strcmp(mode, "blocks") == 0) alone_with_blocks();
  if (strcmp(mode, "nowhere") == 0) nowhere();
  if (strcmp(mode, "uncommitted") == 0) uncommitted();
  if (strcmp(mode, "pairs") == 0) pairs();
  if (strcmp(mode, "handlers") == 0) handlers();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  use(MPI_COMM_WORLD);
  // Open MPI tells the world of some errors, whatever the communicator.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 1; i < argc; ++i) run(argv[i]);
  use(MPI_COMM_WORLD);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "OK" : "WRONG");
  fflush(stdout);
  MPI_Finalize();
  return all != 0;
}
