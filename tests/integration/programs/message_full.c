// SPDX-License-Identifier: BSD-3-Clause
// Probes and receives that find no room for a request, or no memory for a copy, are errors: the message is
// still there for the next call.
#include <sys/resource.h>

#include "messages.inc"

// More data than what an arena of the C library has reserved (64 MiB).
enum { most_requests = 1 << 21, ints = 20 << 20, length_of_first = 3000 };

static MPI_Comm comm;

// What the process has now, and so much.
static void allow(unsigned long more) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) exit(1);
  fclose(file);
  const struct rlimit limit = {.rlim_cur = more == 0 ? RLIM_INFINITY : pages * 4096 + more,
                               .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) exit(1);
}

static int class_of(int error) {
  int class = -1;
  MPI_Error_class(error, &class);
  return class;
}

static void await(int tag) {
  for (int flag = 0; !flag;) MPI_Iprobe(0, tag, comm, &flag, MPI_STATUS_IGNORE);
}

static void no_room(void) {
  unsigned char data[length_of_first];
  if (rank == 0) {
    fill(data, length_of_first, 5);
    MPI_Send(data, length_of_first, MPI_BYTE, 1, 0, comm);
  }
  if (rank != 1) return;
  await(0);
  MPI_Request* requests = malloc(most_requests * sizeof *requests);
  int count = 0, error = MPI_SUCCESS, flag = 1, value;
  for (; count < most_requests && error == MPI_SUCCESS; ++count)
    error = MPI_Irecv(&value, 1, MPI_INT, 0, 10 + count, comm, &requests[count]);
  --count;
  CHECK(class_of(error) == MPI_ERR_NO_MEM);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(class_of(MPI_Improbe(0, 0, comm, &flag, &message, &status)) == MPI_ERR_NO_MEM);
    CHECK(class_of(MPI_Mprobe(0, 0, comm, &message, &status)) == MPI_ERR_NO_MEM);
  }
  // Where nothing has come there is nothing wrong.
  CHECK(MPI_Improbe(0, 1, comm, &flag, &message, &status) == MPI_SUCCESS && flag == 0);
  CHECK(message == MPI_MESSAGE_NULL);
  for (int i = 0; i < count; ++i) {
    MPI_Cancel(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (i != 0) continue;
    flag = 0;
    MPI_Improbe(0, 0, comm, &flag, &message, &status);
    CHECK(flag);
    if (!flag) continue;
    MPI_Mrecv(data, length_of_first, MPI_BYTE, &message, &status);
    check_status(&status, 0, 0, length_of_first);
    CHECK(is_filled(data, length_of_first, 5));
  }
  free(requests);
}

static void no_memory(void) {
  int* data = malloc(2 * (size_t)ints * sizeof *data);
  MPI_Datatype every_other;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  for (int is_started = 0; is_started < 2; ++is_started) {
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
      for (int i = 0; i < ints; ++i) data[i] = i + is_started;
      MPI_Send(data, ints, MPI_INT, 1, 2, comm);
    }
    if (rank != 1) continue;
    memset(data, 0, 2 * (size_t)ints * sizeof *data);
    MPI_Mprobe(0, 2, comm, &message, &status);
    allow(16 << 20);
    for (int turn = 0; turn < 3; ++turn) {
      const int error = is_started ? MPI_Imrecv(data, 1, every_other, &message, &request)
                                   : MPI_Mrecv(data, 1, every_other, &message, &status);
      CHECK(class_of(error) == MPI_ERR_NO_MEM);
    }
    CHECK(message != MPI_MESSAGE_NULL);
    allow(0);
    if (is_started) {
      MPI_Imrecv(data, 1, every_other, &message, &request);
      MPI_Wait(&request, &status);
    } else {
      MPI_Mrecv(data, 1, every_other, &message, &status);
    }
    check_status(&status, 0, 2, ints * (int)sizeof(int));
    for (int i = 0; i < ints; i += 997) CHECK(data[2 * i] == i + is_started);
  }
  MPI_Type_free(&every_other);
  free(data);
}

static void begin(void) {
  allow(0);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}
static void end(void) {
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {
      {"begin", begin}, {"no_memory", no_memory}, {"no_room", no_room}, {"end", end}, {NULL, NULL}};
  // So that fewer requests than usual have room; Intel MPI needs more itself.
  allow((getenv("I_MPI_ROOT") != NULL ? 3000UL : 600UL) << 20);
  return run_sections(sections, argc, argv);
}
