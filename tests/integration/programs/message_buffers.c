// SPDX-License-Identifier: BSD-3-Clause
// What MPI promises of buffers for MPI_Bsend: what fits goes, what does not is MPI_ERR_BUFFER, and a buffer
// is the program's again once it is detached.
#include "messages.inc"

static MPI_Comm comm;
static unsigned char *out, *in;
// Open MPI sends what is shorter than some KiB without a buffer.
enum { too_long = 200000 };

static void begin(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  out = malloc(4 * longest);
  in = malloc(longest);
}
static void end(void) {
  MPI_Comm_free(&comm);
  free(out);
  free(in);
}

static int class_of(int error) {
  int class = 0;
  MPI_Error_class(error, &class);
  return class;
}

// As MPI 4.1, section 3.6, has it for each message.
static int room_for(int count, MPI_Datatype type) {
  int bytes = 0;
  MPI_Pack_size(count, type, comm, &bytes);
  return bytes + MPI_BSEND_OVERHEAD;
}

static void send(int way, int bytes, int turn) {
  MPI_Request request;
  int error = MPI_SUCCESS;
  fill(out, bytes, rank + turn);
  if (way == 0) error = MPI_Bsend(out, bytes, MPI_BYTE, next_rank(), turn, comm);
  if (way == 1) error = MPI_Ibsend(out, bytes, MPI_BYTE, next_rank(), turn, comm, &request);
  if (way == 2) {
    MPI_Bsend_init(out, bytes, MPI_BYTE, next_rank(), turn, comm, &request);
    error = MPI_Start(&request);
  }
  CHECK(error == MPI_SUCCESS);
  if (way != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (way == 2) MPI_Request_free(&request);
}
static void receive(int bytes, int turn) {
  MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), turn, comm, MPI_STATUS_IGNORE);
  CHECK(is_filled(in, bytes, previous_rank() + turn));
}

// A message that is longer than the whole buffer, and one where there is none.
static void refuse(int bytes) {
  MPI_Request request;
  CHECK(class_of(MPI_Bsend(out, bytes, MPI_BYTE, next_rank(), 9, comm)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Ibsend(out, bytes, MPI_BYTE, next_rank(), 9, comm, &request)) == MPI_ERR_BUFFER);
}

enum { count = 3 };

// `attach` gives a buffer of so many bytes. All that must fit goes before any of it is received.
static void fit(void (*attach)(int), void (*detach)(void)) {
  for (int l = 0; l < length_count; ++l) {
    for (int way = 0; way < 3; ++way) {
      attach(count * room_for(lengths[l], MPI_BYTE));
      for (int turn = 0; turn < count; ++turn) send(way, lengths[l], turn);
      refuse(count * room_for(lengths[l], MPI_BYTE) + too_long);
      MPI_Barrier(MPI_COMM_WORLD);
      for (int turn = count - 1; turn >= 0; --turn) receive(lengths[l], turn);
      detach();
      refuse(too_long);
    }
  }
}

static char* buffer;
static int attached;
static void attach_to_process(int bytes) {
  attached = bytes;
  buffer = malloc((size_t)bytes);
  MPI_Buffer_attach(buffer, bytes);
}
static void detach_from_process(void) {
  char* detached = NULL;
  int bytes = 0;
  MPI_Buffer_detach(&detached, &bytes);
  CHECK(detached == buffer && bytes == attached);
  memset(detached, 0, (size_t)bytes);
  free(detached);
}

static void process(void) {
  begin();
  fit(attach_to_process, detach_from_process);
  end();
}

// Elements with gaps count as what MPI_Pack_size says of them.
static void with_gaps(void) {
  begin();
  enum { elements = 2000 };
  int* numbers = calloc(2 * elements, sizeof(int));
  int* found = calloc(2 * elements, sizeof(int));
  MPI_Datatype every_other;
  MPI_Type_vector(elements, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  attach_to_process(count * room_for(1, every_other));
  for (int turn = 0; turn < count; ++turn) {
    for (int i = 0; i < elements; ++i) numbers[2 * i] = rank * 100000 + turn * 10000 + i;
    CHECK(MPI_Bsend(numbers, 1, every_other, next_rank(), turn, comm) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < count; ++turn) {
    MPI_Recv(found, 1, every_other, previous_rank(), turn, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < elements; ++i) CHECK(found[2 * i] == previous_rank() * 100000 + turn * 10000 + i);
  }
  detach_from_process();
  MPI_Type_free(&every_other);
  free(numbers);
  free(found);
  end();
}

// What was detached is the program's, though its messages are received later.
static void detached_first(void) {
  begin();
  for (int l = 0; l < length_count; ++l) {
    MPI_Request request;
    MPI_Irecv(in, lengths[l], MPI_BYTE, previous_rank(), 0, comm, &request);
    attach_to_process(room_for(lengths[l], MPI_BYTE));
    send(0, lengths[l], 0);
    memset(out, 0, (size_t)lengths[l]);
    detach_from_process();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, lengths[l], previous_rank()));
  }
  end();
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
static void attach_to_comm(int bytes) {
  attached = bytes;
  buffer = malloc((size_t)bytes);
  MPI_Comm_attach_buffer(comm, buffer, bytes);
}
static void detach_from_comm(void) {
  char* detached = NULL;
  int bytes = 0;
  MPI_Comm_detach_buffer(comm, &detached, &bytes);
  CHECK(detached == buffer && bytes == attached);
  free(detached);
}

// A communicator's own buffer takes the place of the process's, which others use meanwhile.
static void of_communicator(void) {
  begin();
  fit(attach_to_comm, detach_from_comm);
  static char of_process[count * (3000 + MPI_BSEND_OVERHEAD)];
  MPI_Buffer_attach(of_process, (int)sizeof of_process);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Comm other;
    MPI_Comm_dup(comm, &other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    attach_to_comm(room_for(1000, MPI_BYTE));
    refuse(1001 + MPI_BSEND_OVERHEAD);  // though the process's buffer has room
    send(0, 1000, turn);
    MPI_Comm_flush_buffer(comm);
    // A duplicate has none of its own.
    CHECK(MPI_Bsend(out, 3000, MPI_BYTE, next_rank(), 8, other) == MPI_SUCCESS);
    CHECK(class_of(MPI_Bsend(out, sizeof of_process + 1, MPI_BYTE, next_rank(), 8, other)) == MPI_ERR_BUFFER);
    receive(1000, turn);
    MPI_Recv(in, 3000, MPI_BYTE, previous_rank(), 8, other, MPI_STATUS_IGNORE);
    detach_from_comm();
    send(turn, 3000, turn);
    receive(3000, turn);
    MPI_Comm_free(&other);
    MPI_Buffer_flush();
  }
  MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
  for (int turn = 0; turn < 5; ++turn) send(turn % 3, 100000, turn);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 5; ++turn) receive(100000, turn);
  void* detached = NULL;
  int bytes = 0;
  MPI_Comm_detach_buffer(comm, &detached, &bytes);
  CHECK(detached == MPI_BUFFER_AUTOMATIC);
  MPI_Buffer_detach(&detached, &bytes);
  CHECK(detached == (void*)of_process);
  refuse(too_long);
  end();
}
#else
static void of_communicator(void) {}
#endif

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"process", process},
                                            {"with_gaps", with_gaps},
                                            {"detached_first", detached_first},
                                            {"of_communicator", of_communicator},
                                            {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
