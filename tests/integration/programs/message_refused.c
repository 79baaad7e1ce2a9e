// SPDX-License-Identifier: BSD-3-Clause
// Calls that send, receive and probe with arguments that break MPI's rules. Prints what the MPI alone should
// print as well: of each call the class of its error, and whether the communicator's handler was called.
// Other messages are under way meanwhile, and must come as if nothing had been. Words: what is left out,
// since some MPI crashes there; or `fatal` and the name of a call that is made where errors are fatal.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MPICH 4's header says that MPI_STATUSES_IGNORE is an array.
#pragma GCC diagnostic ignored "-Wstringop-overflow"

#if MPI_VERSION >= 4 && !defined(OMPI_MAJOR_VERSION)
#define HAS_LARGE_COUNTS 1
#endif

static int rank, size, wrong, handler_calls, handler_class;
static MPI_Comm comm, handled;  // with errors returned, and with a handler of the program's

static void handler(MPI_Comm* of, int* error, ...) {
  if (*of == handled) ++handler_calls;
  MPI_Error_class(*error, &handler_class);
}

struct Arguments {
  int count;
  MPI_Datatype type;
  int partner, tag;
  MPI_Comm comm;
};
static char memory[256], other_memory[256];

#define NORMAL(Name) static int do_##Name(const struct Arguments* a)
#define SENDS(Name)                                                            \
  NORMAL(Name) {                                                               \
    return MPI_##Name(memory, a->count, a->type, a->partner, a->tag, a->comm); \
  }
#define STARTS(Name)                                                                                \
  NORMAL(Name) {                                                                                    \
    MPI_Request request = MPI_REQUEST_NULL;                                                         \
    const int error = MPI_##Name(memory, a->count, a->type, a->partner, a->tag, a->comm, &request); \
    if (error == MPI_SUCCESS) MPI_Request_free(&request);                                           \
    return error;                                                                                   \
  }
SENDS(Send)
SENDS(Bsend)
SENDS(Ssend)
SENDS(Rsend)
STARTS(Isend)
STARTS(Ibsend)
STARTS(Issend)
STARTS(Irsend)
STARTS(Send_init)
STARTS(Bsend_init)
STARTS(Ssend_init)
STARTS(Rsend_init)
STARTS(Irecv)
STARTS(Recv_init)
NORMAL(Recv) {
  return MPI_Recv(memory, a->count, a->type, a->partner, a->tag, a->comm, MPI_STATUS_IGNORE);
}
NORMAL(Probe) {
  return MPI_Probe(a->partner, a->tag, a->comm, MPI_STATUS_IGNORE);
}
NORMAL(Iprobe) {
  int flag = 0;
  return MPI_Iprobe(a->partner, a->tag, a->comm, &flag, MPI_STATUS_IGNORE);
}
NORMAL(Mprobe) {
  MPI_Message message;
  return MPI_Mprobe(a->partner, a->tag, a->comm, &message, MPI_STATUS_IGNORE);
}
NORMAL(Improbe) {
  int flag = 0;
  MPI_Message message;
  return MPI_Improbe(a->partner, a->tag, a->comm, &flag, &message, MPI_STATUS_IGNORE);
}
// Their send is wrong, or their receive.
NORMAL(Sendrecv) {
  return MPI_Sendrecv(memory, a->count, a->type, a->partner, a->tag, other_memory, 1, MPI_INT, rank, 77,
                      a->comm, MPI_STATUS_IGNORE);
}
NORMAL(Sendrecv_in) {
  return MPI_Sendrecv(memory, 1, MPI_INT, rank, 77, other_memory, a->count, a->type, a->partner, a->tag,
                      a->comm, MPI_STATUS_IGNORE);
}
NORMAL(Sendrecv_replace) {
  return MPI_Sendrecv_replace(memory, a->count, a->type, a->partner, a->tag, rank, 77, a->comm,
                              MPI_STATUS_IGNORE);
}
NORMAL(Sendrecv_replace_in) {
  return MPI_Sendrecv_replace(memory, a->count, a->type, rank, 77, a->partner, a->tag, a->comm,
                              MPI_STATUS_IGNORE);
}
#if HAS_LARGE_COUNTS
NORMAL(Send_c) {
  return MPI_Send_c(memory, a->count, a->type, a->partner, a->tag, a->comm);
}
NORMAL(Recv_c) {
  return MPI_Recv_c(memory, a->count, a->type, a->partner, a->tag, a->comm, MPI_STATUS_IGNORE);
}
STARTS(Isend_c)
STARTS(Irecv_c)
STARTS(Recv_init_c)
#endif
#if MPI_VERSION >= 4
NORMAL(Isendrecv) {
  MPI_Request request;
  return MPI_Isendrecv(memory, a->count, a->type, a->partner, a->tag, other_memory, 1, MPI_INT, rank, 77,
                       a->comm, &request);
}
NORMAL(Isendrecv_replace) {
  MPI_Request request;
  return MPI_Isendrecv_replace(memory, a->count, a->type, a->partner, a->tag, rank, 77, a->comm, &request);
}
#endif

enum Kind { sending = 1, receiving = 2, probing = 4 };
struct Function {
  const char* name;
  int (*run)(const struct Arguments*);
  int kind;
};
#define ENTRY(Name, kind) \
  { #Name, do_##Name, kind }
static const struct Function functions[] = {ENTRY(Send, sending),
                                            ENTRY(Bsend, sending),
                                            ENTRY(Ssend, sending),
                                            ENTRY(Rsend, sending),
                                            ENTRY(Isend, sending),
                                            ENTRY(Ibsend, sending),
                                            ENTRY(Issend, sending),
                                            ENTRY(Irsend, sending),
                                            ENTRY(Send_init, sending),
                                            ENTRY(Bsend_init, sending),
                                            ENTRY(Ssend_init, sending),
                                            ENTRY(Rsend_init, sending),
                                            ENTRY(Irecv, receiving),
                                            ENTRY(Recv_init, receiving),
                                            ENTRY(Recv, receiving),
                                            ENTRY(Probe, probing),
                                            ENTRY(Iprobe, probing),
                                            ENTRY(Mprobe, probing),
                                            ENTRY(Improbe, probing),
                                            ENTRY(Sendrecv, sending),
                                            ENTRY(Sendrecv_in, receiving),
                                            ENTRY(Sendrecv_replace, sending),
                                            ENTRY(Sendrecv_replace_in, receiving),
#if HAS_LARGE_COUNTS
                                            ENTRY(Send_c, sending),
                                            ENTRY(Recv_c, receiving),
                                            ENTRY(Isend_c, sending),
                                            ENTRY(Irecv_c, receiving),
                                            ENTRY(Recv_init_c, receiving),
#endif
#if MPI_VERSION >= 4
                                            ENTRY(Isendrecv, sending),
                                            ENTRY(Isendrecv_replace, sending),
#endif
                                            {NULL, NULL, 0}};

static const char* name_of(int error) {
  static char number[32];
  static const struct {
    int class;
    const char* name;
  } names[] = {{MPI_SUCCESS, "none"},        {MPI_ERR_COUNT, "count"},     {MPI_ERR_TYPE, "type"},
               {MPI_ERR_RANK, "rank"},       {MPI_ERR_TAG, "tag"},         {MPI_ERR_COMM, "communicator"},
               {MPI_ERR_ARG, "argument"},    {MPI_ERR_REQUEST, "request"}, {MPI_ERR_BUFFER, "buffer"},
               {MPI_ERR_OTHER, "other"},     {MPI_ERR_INTERN, "internal"}, {MPI_ERR_UNKNOWN, "unknown"},
               {MPI_ERR_IN_STATUS, "status"}};
  int class = 0;
  MPI_Error_class(error, &class);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (names[i].class == class) return names[i].name;
  }
  snprintf(number, sizeof number, "class %d", class);
  return number;
}

static char** left_out;
static int left_out_count;
// Is the call to be made? Then its name is printed.
static int begins(const char* name, const char* what) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s, %s", name, what);
  for (int i = 0; i < left_out_count; ++i) {
    if (strcmp(left_out[i], whole) == 0) return 0;
  }
  if (rank == 0) printf("%s: ", whole);
  fflush(stdout);
  return 1;
}
static void tell(int error) {
  if (rank == 0) printf("%s", name_of(error));
  if (rank == 0 && handler_calls != 0) printf(", handled %d %s", handler_calls, name_of(handler_class));
  if (rank == 0) printf("\n");
  fflush(stdout);
  handler_calls = 0;
}
#define TELL(name, what, call)            \
  do {                                    \
    if (begins(name, what)) tell((call)); \
  } while (0)

// A message around the ring, whose receive waits while the call fails.
static int around = -1;
static MPI_Request around_request;
static void begin_around(void) {
  around = -1;
  MPI_Irecv(&around, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &around_request);
}
static void end_around(int value) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size, mine = rank * 1000 + value;
  MPI_Status status;
  MPI_Send(&mine, 1, MPI_INT, next, 5, comm);
  MPI_Wait(&around_request, &status);
  if (around != previous * 1000 + value || status.MPI_SOURCE != previous || status.MPI_TAG != 5) {
    if (wrong++ < 10) fprintf(stderr, "rank %d: %d from %d\n", rank, around, status.MPI_SOURCE);
  }
}

static int largest_tag(void) {
  int *value = NULL, is_set = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &is_set);
  return is_set ? *value : 32767;
}

static void call(const struct Function* function, const char* what, struct Arguments arguments) {
  for (int way = 0; way < 2; ++way) {
    if (way == 1 && arguments.comm != comm) break;
    if (way == 1) arguments.comm = handled;
    begin_around();
    TELL(function->name, what, function->run(&arguments));
    end_around(way);
  }
}

static MPI_Datatype uncommitted;

static void refuse(const struct Function* function) {
  const int is_send = (function->kind & sending) != 0, is_probe = (function->kind & probing) != 0;
  const struct Arguments right = {1, MPI_INT, (rank + 1) % size, 9, comm};
  struct Arguments a = right;
  if (!is_probe) {
    a.count = -1;
    call(function, "count", a);
    a = right;
    a.type = MPI_DATATYPE_NULL;
    call(function, "no type", a);
    a.type = uncommitted;
    call(function, "uncommitted", a);
    // Where there is nobody to talk to the others must be right all the same.
    a = right;
    a.partner = MPI_PROC_NULL;
    a.count = -1;
    call(function, "count, nobody", a);
  }
  a = right;
  a.partner = size;
  call(function, "rank", a);
  a.partner = -77;
  call(function, "negative rank", a);
  a = right;
  a.tag = -77;
  call(function, "negative tag", a);
  a.partner = MPI_PROC_NULL;
  call(function, "negative tag, nobody", a);
  a = right;
  if (largest_tag() < 0x7FFFFFFF) {
    a.tag = largest_tag() + 1;
    call(function, "large tag", a);
  }
  if (is_send) {
    a = right;
    a.tag = MPI_ANY_TAG;
    call(function, "any tag", a);
    a = right;
    a.partner = MPI_ANY_SOURCE;
    call(function, "any source", a);
  }
  a = right;
  a.comm = MPI_COMM_NULL;
  call(function, "no communicator", a);
}

// A message that a probe has taken stays there where its receive is refused.
static void refuse_taken(void) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int turn = 0; turn < 6; ++turn) {
    int got = -1;
    const int value = rank * 10 + turn, is_started = turn % 2;
    const int count = turn / 2 == 0 ? -1 : 1;
    const MPI_Datatype type = turn / 2 == 1 ? MPI_DATATYPE_NULL : turn / 2 == 2 ? uncommitted : MPI_INT;
    MPI_Request sending_one, request = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Isend(&value, 1, MPI_INT, next, 3, handled, &sending_one);
    MPI_Mprobe(previous, 3, handled, &message, MPI_STATUS_IGNORE);
    const char* what = turn / 2 == 0 ? "count" : turn / 2 == 1 ? "no type" : "uncommitted";
    if (is_started) {
      TELL("Imrecv", what, MPI_Imrecv(&got, count, type, &message, &request));
    } else {
      TELL("Mrecv", what, MPI_Mrecv(&got, count, type, &message, MPI_STATUS_IGNORE));
    }
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    if ((got != previous * 10 + turn || message != MPI_MESSAGE_NULL) && wrong++ < 10)
      fprintf(stderr, "rank %d: taken %d\n", rank, got);
    MPI_Wait(&sending_one, MPI_STATUS_IGNORE);
  }
}

// Functions that complete requests, with one under way.
static void refuse_requests(void) {
  int got = -1, flag = 0, index = 0, indices[2];
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Request request, persistent, none = MPI_REQUEST_NULL;
  MPI_Irecv(&got, 1, MPI_INT, previous, 4, comm, &request);
  TELL("Waitall", "count", MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE));
  TELL("Waitany", "count", MPI_Waitany(-1, &request, &index, MPI_STATUS_IGNORE));
  TELL("Waitsome", "count", MPI_Waitsome(-1, &request, &index, indices, MPI_STATUSES_IGNORE));
  TELL("Testall", "count", MPI_Testall(-1, &request, &flag, MPI_STATUSES_IGNORE));
  TELL("Testany", "count", MPI_Testany(-1, &request, &index, &flag, MPI_STATUS_IGNORE));
  TELL("Testsome", "count", MPI_Testsome(-1, &request, &index, indices, MPI_STATUSES_IGNORE));
  TELL("Startall", "count", MPI_Startall(-1, &request));
  TELL("Wait", "no place", MPI_Wait(NULL, MPI_STATUS_IGNORE));
  TELL("Waitall", "no array", MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
  TELL("Waitany", "no array", MPI_Waitany(1, NULL, &index, MPI_STATUS_IGNORE));
  TELL("Testall", "no array", MPI_Testall(1, NULL, &flag, MPI_STATUSES_IGNORE));
  TELL("Testany", "no array", MPI_Testany(1, NULL, &index, &flag, MPI_STATUS_IGNORE));
  TELL("Test", "no place", MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
  TELL("Startall", "no array", MPI_Startall(1, NULL));
  TELL("Start", "no place", MPI_Start(NULL));
  TELL("Cancel", "no place", MPI_Cancel(NULL));
  TELL("Request_free", "no place", MPI_Request_free(NULL));
  TELL("Request_free", "none", MPI_Request_free(&none));
  TELL("Start", "none", MPI_Start(&none));
  TELL("Cancel", "none", MPI_Cancel(&none));
  TELL("Test", "no flag", MPI_Test(&request, NULL, MPI_STATUS_IGNORE));
  TELL("Testall", "no flag", MPI_Testall(1, &request, NULL, MPI_STATUSES_IGNORE));
  TELL("Testany", "no flag", MPI_Testany(1, &request, &index, NULL, MPI_STATUS_IGNORE));
  TELL("Testany", "no index", MPI_Testany(1, &request, NULL, &flag, MPI_STATUS_IGNORE));
  TELL("Testsome", "no count", MPI_Testsome(1, &request, NULL, indices, MPI_STATUSES_IGNORE));
  TELL("Request_get_status", "no flag", MPI_Request_get_status(request, NULL, MPI_STATUS_IGNORE));
  // Where MPI has another word for what nobody wants to know.
  MPI_Status* const missing = NULL;
  if (missing != MPI_STATUS_IGNORE) {
    TELL("Wait", "no status", MPI_Wait(&request, missing));
    TELL("Test", "no status", MPI_Test(&request, &flag, missing));
    TELL("Waitall", "no statuses", MPI_Waitall(1, &request, missing));
    TELL("Testany", "no status", MPI_Testany(1, &request, &index, &flag, missing));
    TELL("Request_get_status", "no status", MPI_Request_get_status(request, &flag, missing));
    TELL("Recv", "no status", MPI_Recv(memory, 1, MPI_INT, previous, 4, comm, missing));
    TELL("Iprobe", "no status", MPI_Iprobe(previous, 4, comm, &flag, missing));
    TELL("Sendrecv", "no status",
         MPI_Sendrecv(memory, 1, MPI_INT, rank, 77, other_memory, 1, MPI_INT, rank, 77, comm, missing));
  }
  TELL("Start", "not persistent", MPI_Start(&request));
  TELL("Startall", "not persistent", MPI_Startall(1, &request));
  MPI_Send(&rank, 1, MPI_INT, next, 4, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (got != previous && wrong++ < 10) fprintf(stderr, "rank %d: requests %d\n", rank, got);
  MPI_Recv_init(&got, 1, MPI_INT, previous, 4, comm, &persistent);
  MPI_Start(&persistent);
  MPI_Send(&rank, 1, MPI_INT, next, 4, comm);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  MPI_Request_free(&persistent);
  // No place for the request, or for what a probe finds.
  TELL("Isend", "no place", MPI_Isend(memory, 1, MPI_INT, next, 9, comm, NULL));
  TELL("Irecv", "no place", MPI_Irecv(memory, 1, MPI_INT, next, 9, comm, NULL));
  TELL("Send_init", "no place", MPI_Send_init(memory, 1, MPI_INT, next, 9, comm, NULL));
}

static const struct {
  const char* name;
  struct Arguments arguments;
} fatal[] = {{"count", {-1, MPI_INT, 0, 1, MPI_COMM_NULL}},
             {"rank", {1, MPI_INT, 77, 1, MPI_COMM_NULL}},
             {"tag", {1, MPI_INT, 0, -77, MPI_COMM_NULL}}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left_out = argv + 1;
  left_out_count = argc - 1;
  for (size_t i = 0; argc > 2 && strcmp(argv[1], "fatal") == 0 && i < sizeof fatal / sizeof fatal[0]; ++i) {
    if (strcmp(argv[2], fatal[i].name) != 0) continue;
    struct Arguments arguments = fatal[i].arguments;
    arguments.comm = MPI_COMM_WORLD;
    if (rank == 0) do_Send(&arguments);
    MPI_Recv(memory, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("NOT REACHED\n");
  }
  static char attached[10000];
  MPI_Buffer_attach(attached, sizeof attached);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &handled);
  MPI_Errhandler of_program;
  MPI_Comm_create_errhandler(handler, &of_program);
  MPI_Comm_set_errhandler(handled, of_program);
  MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
  for (const struct Function* function = functions; function->name != NULL; ++function) refuse(function);
  refuse_taken();
  refuse_requests();
  MPI_Type_free(&uncommitted);
  MPI_Errhandler_free(&of_program);
  MPI_Comm_free(&handled);
  MPI_Comm_free(&comm);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "OK\n" : "%d wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
