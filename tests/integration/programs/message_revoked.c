// SPDX-License-Identifier: BSD-3-Clause
// Who waits for a message on a communicator that was revoked gets an error. MPI 5 has no such function
// yet: Open MPI's own. Prints what each call says, and how often the error handler was called.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "messages.inc"

static int (*revoke)(MPI_Comm);
static MPI_Comm comm;
static int handled;
static char data[sizeof(int)];

static void handler(MPI_Comm* of, int* error, ...) {
  (void)error;
  CHECK(*of == comm);
  ++handled;
}

static void begin(void) {
  static MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  if (counting == MPI_ERRHANDLER_NULL) MPI_Comm_create_errhandler(handler, &counting);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, counting);
  if (revoke == NULL) *(void**)&revoke = dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke");
  handled = 0;
}

static void end(const char* what, int error) {
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  if (rank == 0) printf("%s: class %d, %d times\n", what, class, handled);
  MPI_Comm_free(&comm);
  // All have come so far before anybody goes on.
  MPI_Barrier(MPI_COMM_WORLD);
}

static void blocking(void) {
  MPI_Status status;
  MPI_Message message;
  int error = MPI_SUCCESS;
#define CALL(what, call) \
  begin();               \
  revoke(comm);          \
  error = call;          \
  end(what, error)
  CALL("receive", MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status));
  CALL("probe", MPI_Probe(previous_rank(), 1, comm, &status));
  CALL("probe of one", MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
}

// Open MPI itself says nothing here, for ever.
static void looks(void) {
  MPI_Status status;
  MPI_Message message;
  int error = MPI_SUCCESS, flag = 0;
  begin();
  revoke(comm);
  do error = MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, &status);
  while (!flag && error == MPI_SUCCESS);
  end("look", error);
  begin();
  revoke(comm);
  do error = MPI_Improbe(MPI_ANY_SOURCE, 1, comm, &flag, &message, &status);
  while (!flag && error == MPI_SUCCESS);
  end("look for one", error);
}

// Which function completes a receive that was under way. With Open MPI itself none does.
static int complete(int way, int count, MPI_Request* requests) {
  MPI_Status statuses[2];
  int places[2], flag = 0, error = MPI_SUCCESS;
  switch (way) {
    case 0:
      return MPI_Wait(requests, MPI_STATUS_IGNORE);
    case 1:
      return MPI_Waitany(count, requests, places, MPI_STATUS_IGNORE);
    default:
      break;
  }
  do
    error = way == 2 ? MPI_Test(requests, &flag, statuses)
                     : MPI_Testany(count, requests, places, &flag, statuses);
  while (!flag && error == MPI_SUCCESS);
  return error;
}

static void started(void) {
  static const char* const ways[] = {"wait", "wait for any", "test", "test any"};
  for (int way = 0; way < 4; ++way) {
    MPI_Request requests[2];
    begin();
    MPI_Irecv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &requests[0]);
    revoke(comm);
    int error = complete(way, 1, requests);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    end(ways[way], error);
  }
}

// Arrays: each of the requests has failed.
static void all_of_them(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  begin();
  for (int i = 0; i < 2; ++i) MPI_Irecv(data, 1, MPI_INT, previous_rank(), i, comm, &requests[i]);
  revoke(comm);
  const int error = MPI_Waitall(2, requests, statuses);
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  CHECK(class == MPI_ERR_IN_STATUS);
  for (int i = 0; i < 2; ++i) {
    MPI_Error_class(statuses[i].MPI_ERROR, &class);
    if (rank == 0) printf("%d: class %d\n", i, class);
  }
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Other communicators go on.
static void others(void) {
  int from = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), 0, &from, 1, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(from == previous_rank());
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"blocking", blocking}, {"looks", looks},
                                            {"started", started},   {"all_of_them", all_of_them},
                                            {"others", others},     {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
