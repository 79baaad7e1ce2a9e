// SPDX-License-Identifier: BSD-3-Clause
// Messages from and to the memory of a GPU, or of a stand-in (gpu_memory.inc), which the MPI cannot read. The
// GPU's library stands in GPU_LIBRARY. What lies beside the data, and in its gaps, stays as it is.
#define _GNU_SOURCE
#include <mpi.h>

#include "gpu_memory.inc"
#include "messages.inc"

enum { out_side, in_side, room = 2 * longest + 4096, untouched = 0xEE };
static char* memory[2][2];  // of the host and of the GPU, for what is sent and what comes
static unsigned char *content, *found;

static void load(void) {
  if (content != NULL) return;
  load_gpu(getenv("GPU_LIBRARY"));
  for (int kind = of_host; kind <= of_gpu; ++kind) {
    for (int side = out_side; side <= in_side; ++side) memory[kind][side] = allocate_of(kind, room);
  }
  content = malloc(room);
  found = malloc(room);
  void* buffer = malloc(4 * (longest + MPI_BSEND_OVERHEAD));
  MPI_Buffer_attach(buffer, 4 * (longest + MPI_BSEND_OVERHEAD));
}

static void prepare(int out_kind, int in_kind, int bytes, int salt) {
  memset(content, untouched, room);
  put(memory[in_kind][in_side], in_kind, content, room);
  fill(content, bytes, rank + salt);
  put(memory[out_kind][out_side], out_kind, content, (size_t)bytes);
}
static void check_came(int in_kind, int bytes, int salt) {
  get(memory[in_kind][in_side], in_kind, found, (size_t)bytes + 1000);
  CHECK(is_filled(found, bytes, previous_rank() + salt));
  for (int i = bytes; i < bytes + 1000; ++i) CHECK(found[i] == untouched);
}

enum Way { waited_for, started, synchronous, buffered, probed, taken, taken_started, both, way_count };
// `room_for` is at least `bytes`.
static void send_around(int way, const void* out, void* in, int bytes, int room_for, MPI_Comm comm) {
  const int next = next_rank(), previous = previous_rank();
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message;
  MPI_Status status;
  switch (way) {
    case started:
      MPI_Isend(out, bytes, MPI_BYTE, next, 1, comm, &requests[0]);
      MPI_Irecv(in, room_for, MPI_BYTE, previous, 1, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    case synchronous:
      MPI_Irecv(in, room_for, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &requests[1]);
      MPI_Ssend(out, bytes, MPI_BYTE, next, 1, comm);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      break;
    case buffered:
      MPI_Bsend(out, bytes, MPI_BYTE, next, 1, comm);
      MPI_Recv(in, room_for, MPI_BYTE, previous, MPI_ANY_TAG, comm, &status);
      check_status(&status, previous, 1, bytes);
      break;
    case probed:
      MPI_Isend(out, bytes, MPI_BYTE, next, 1, comm, &requests[0]);
      MPI_Probe(previous, 1, comm, &status);
      check_status(&status, previous, 1, bytes);
      MPI_Recv(in, room_for, MPI_BYTE, previous, 1, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case taken:
    case taken_started:
      MPI_Isend(out, bytes, MPI_BYTE, next, 1, comm, &requests[0]);
      MPI_Mprobe(MPI_ANY_SOURCE, 1, comm, &message, &status);
      if (way == taken) {
        MPI_Mrecv(in, room_for, MPI_BYTE, &message, &status);
      } else {
        MPI_Imrecv(in, room_for, MPI_BYTE, &message, &requests[1]);
        MPI_Wait(&requests[1], &status);
      }
      check_status(&status, previous, 1, bytes);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case both:
      MPI_Sendrecv(out, bytes, MPI_BYTE, next, 1, in, room_for, MPI_BYTE, previous, 1, comm, &status);
      check_status(&status, previous, 1, bytes);
      break;
    default:
      MPI_Irecv(in, room_for, MPI_BYTE, previous, 1, comm, &requests[1]);
      MPI_Send(out, bytes, MPI_BYTE, next, 1, comm);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
}

// Of each kind into each kind, of all lengths, and into receives that have more room.
static void all_ways(void) {
  load();
  for (int way = 0; way < way_count; ++way) {
    for (int l = 0; l < length_count; ++l) {
      for (int kinds = 1; kinds < 4; ++kinds) {
        const int out_kind = kinds & 1, in_kind = kinds >> 1, salt = way + l;
        prepare(out_kind, in_kind, lengths[l], salt);
        send_around(way, memory[out_kind][out_side], memory[in_kind][in_side], lengths[l],
                    lengths[l] + l % 2 * 300, MPI_COMM_WORLD);
        check_came(in_kind, lengths[l], salt);
      }
    }
  }
}

static void replacing(void) {
  load();
  for (int l = 0; l < length_count; ++l) {
    const int bytes = lengths[l];
    char* both_ends = memory[of_gpu][in_side];
    memset(content, untouched, room);
    fill(content, bytes, rank + l);
    put(both_ends, of_gpu, content, room);
    MPI_Sendrecv_replace(both_ends, bytes, MPI_BYTE, next_rank(), 2, previous_rank(), 2, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    check_came(of_gpu, bytes, l);
#if MPI_VERSION >= 4
    MPI_Request request;
    MPI_Isendrecv_replace(both_ends, bytes, MPI_BYTE, previous_rank(), 3, next_rank(), 3, MPI_COMM_WORLD,
                          &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    get(both_ends, of_gpu, found, (size_t)bytes);
    CHECK(is_filled(found, bytes, rank + l));
#endif
  }
}

static void persistent(void) {
  load();
  for (int l = 0; l < length_count; ++l) {
    MPI_Request requests[2];
    MPI_Send_init(memory[of_gpu][out_side], lengths[l], MPI_BYTE, next_rank(), 4, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Recv_init(memory[of_gpu][in_side], lengths[l], MPI_BYTE, previous_rank(), 4, MPI_COMM_WORLD,
                  &requests[1]);
    for (int turn = 0; turn < 3; ++turn) {
      prepare(of_gpu, of_gpu, lengths[l], turn);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      check_came(of_gpu, lengths[l], turn);
    }
    for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  }
}

// Every other int, from the buffer on or from MPI_BOTTOM on. A message may be shorter than its receive.
static void with_gaps(void) {
  load();
  for (int way = 0; way < 3; ++way) {
    for (int count = 1; count < 400000; count = count * 7 + 1) {
      const int elements = way == 1 && count > 1 ? count - 1 : count;
      char *out = memory[of_gpu][out_side], *in = memory[of_gpu][in_side];
      MPI_Datatype types[2], one;
      MPI_Aint lower = 0, addresses[2];
      MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &one);
      MPI_Get_address(out, &addresses[0]);
      MPI_Get_address(in, &addresses[1]);
      for (int side = 0; side < 2; ++side) {
        const int n = side == out_side ? elements : count;
        if (way == 2) {
          MPI_Type_create_hindexed(1, &n, &addresses[side], one, &types[side]);
        } else {
          MPI_Type_create_hindexed(1, &n, &lower, one, &types[side]);
        }
        MPI_Type_commit(&types[side]);
      }
      int* numbers = (int*)content;
      for (int i = 0; i < 2 * count; ++i) numbers[i] = -i;
      put(in, of_gpu, numbers, 2 * sizeof(int) * (size_t)count);
      for (int i = 0; i < 2 * count; ++i) numbers[i] = rank * 1000000 + i;
      put(out, of_gpu, numbers, 2 * sizeof(int) * (size_t)count);
      MPI_Request request;
      MPI_Irecv(way == 2 ? MPI_BOTTOM : in, 1, types[in_side], previous_rank(), 5, MPI_COMM_WORLD, &request);
      MPI_Send(way == 2 ? MPI_BOTTOM : out, 1, types[out_side], next_rank(), 5, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      get(in, of_gpu, found, 2 * sizeof(int) * (size_t)count);
      numbers = (int*)found;
      int wrong = 0;
      for (int i = 0; i < 2 * count; ++i)
        wrong += numbers[i] != (i % 2 || i / 2 >= elements ? -i : previous_rank() * 1000000 + i);
      CHECK(wrong == 0);
      for (int side = 0; side < 2; ++side) MPI_Type_free(&types[side]);
      MPI_Type_free(&one);
    }
  }
}

// A receive that is cancelled, one that nobody waits for, and one that is too short.
static void ends(void) {
  load();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0, class = 0;
  prepare(of_gpu, of_gpu, 5000, 1);
  MPI_Irecv(memory[of_gpu][in_side], 5000, MPI_BYTE, previous_rank(), 6, comm, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled);
  MPI_Barrier(comm);  // nobody has sent anything before
  MPI_Irecv(memory[of_gpu][in_side], 5000, MPI_BYTE, previous_rank(), 6, comm, &request);
  MPI_Request_free(&request);
  MPI_Send(memory[of_gpu][out_side], 5000, MPI_BYTE, next_rank(), 6, comm);
  // It has come once what was sent behind it has, and MPI has had time for it.
  MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), 6, &cancelled, 1, MPI_INT, previous_rank(), 6, comm,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) MPI_Iprobe(previous_rank(), 7, comm, &cancelled, MPI_STATUS_IGNORE);
  check_came(of_gpu, 5000, 1);
  prepare(of_gpu, of_gpu, 5000, 2);
  MPI_Irecv(memory[of_gpu][in_side], 2000, MPI_BYTE, previous_rank(), 6, comm, &request);
  MPI_Send(memory[of_gpu][out_side], 5000, MPI_BYTE, next_rank(), 6, comm);
  MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  check_came(of_gpu, 2000, 2);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {
      {"all_ways", all_ways},   {"replacing", replacing}, {"persistent", persistent},
      {"with_gaps", with_gaps}, {"ends", ends},           {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
