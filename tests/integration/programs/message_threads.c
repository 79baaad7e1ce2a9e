// SPDX-License-Identifier: BSD-3-Clause
// Random traffic of several threads of each rank at once, all to all, in all modes and lengths. It is
// received by posted receives, by probes and by messages that a probe has taken. Each message says what it
// is.
//     message_threads SEED TURNS
// Prints OK, LEVEL where the MPI has no MPI_THREAD_MULTIPLE, or what was wrong.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MPICH 4's header says that MPI_STATUSES_IGNORE is an array.
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { threads = 3, most_bytes = 200000 };

static int rank, size, turns;
static unsigned seed;
static _Atomic int failures;
static MPI_Comm comms[threads + 1];  // one for each thread, and one for all

static unsigned next(unsigned* state) {
  *state = *state * 1664525U + 1013904223U;
  return *state >> 8;
}

static int length_of(unsigned number) {
  static const int most[] = {1, 40, 300, 5000, 70000, most_bytes};
  return (int)(number % (unsigned)most[number / 7 % 6]);
}

// Number `turn` of thread `thread` of rank `from`, to rank `to`.
static int message_bytes(int from, int to, int thread, int turn) {
  unsigned state = seed + (unsigned)(((from * 31 + to) * 31 + thread) * 4001 + turn);
  next(&state);
  return 16 + length_of(next(&state));
}
static void fill(unsigned char* data, int bytes, int from, int thread, int turn) {
  const int head[4] = {from, thread, turn, bytes};
  memcpy(data, head, 16);
  for (int i = 16; i < bytes; ++i) data[i] = (unsigned char)(from * 7 + thread * 3 + turn + i);
}
static void check(const unsigned char* data, int bytes, int from, int thread, int turn) {
  int head[4];
  memcpy(head, data, 16);
  int is_right = head[0] == from && head[1] == thread && head[2] == turn && head[3] == bytes;
  for (int i = 16; i < bytes && is_right; ++i)
    is_right = data[i] == (unsigned char)(from * 7 + thread * 3 + turn + i);
  if (!is_right && failures++ < 10)
    fprintf(stderr, "rank %d thread %d: turn %d of rank %d has %d %d %d %d, %d bytes\n", rank, thread, turn,
            from, head[0], head[1], head[2], head[3], bytes);
}

// In each turn every rank sends one message to all ranks, itself too.
static void* traffic(void* argument) {
  const int thread = *(int*)argument;
  unsigned state = seed * 77U + (unsigned)(rank * threads + thread);
  unsigned char** out = malloc(sizeof(void*) * (size_t)size);
  MPI_Request* sends = malloc(sizeof(MPI_Request) * (size_t)size);
  unsigned char* in = malloc(most_bytes + 16);
  for (int to = 0; to < size; ++to) out[to] = malloc(most_bytes + 16);
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Comm comm = turn % 2 ? comms[thread] : comms[threads];
    const int tag = turn % 2 ? 5 : thread;
    for (int k = 0; k < size; ++k) {
      const int to = (rank + k) % size, bytes = message_bytes(rank, to, thread, turn);
      fill(out[to], bytes, rank, thread, turn);
      if (next(&state) % 3 == 0) {
        MPI_Issend(out[to], bytes, MPI_BYTE, to, tag, comm, &sends[to]);
      } else {
        MPI_Isend(out[to], bytes, MPI_BYTE, to, tag, comm, &sends[to]);
      }
    }
    const int is_any = (int)(next(&state) % 2);
    for (int k = 0; k < size; ++k) {
      MPI_Status status;
      MPI_Message message;
      MPI_Request request;
      int flag = 0, count = -1;
      // Ranks may be turns apart: the next message of a rank is this turn's, but MPI_ANY_SOURCE may get
      // another.
      const int from = (rank + size - k) % size;
      switch (next(&state) % 5) {
        case 0:
          MPI_Recv(in, most_bytes + 16, MPI_BYTE, from, tag, comm, &status);
          break;
        case 1:
          MPI_Irecv(in, most_bytes + 16, MPI_BYTE, from, tag, comm, &request);
          while (!flag) MPI_Test(&request, &flag, &status);
          break;
        case 2:
          MPI_Mprobe(from, tag, comm, &message, &status);
          MPI_Get_count(&status, MPI_BYTE, &count);
          MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
          break;
        case 3:
          while (!flag) MPI_Improbe(from, tag, comm, &flag, &message, &status);
          MPI_Imrecv(in, most_bytes + 16, MPI_BYTE, &message, &request);
          MPI_Waitall(1, &request, &status);
          break;
        default:
          MPI_Irecv(in, most_bytes + 16, MPI_BYTE, from, tag, comm, &request);
          MPI_Wait(&request, &status);
      }
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (status.MPI_SOURCE != from || count != message_bytes(from, rank, thread, turn)) ++failures;
      check(in, count, from, thread, turn);
    }
    MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
    // Now all may be received by anybody: nothing of this turn is left.
    if (is_any && turn % 2) {
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, 6, comm, &flag, MPI_STATUS_IGNORE);
      if (flag) ++failures;
    }
  }
  for (int to = 0; to < size; ++to) free(out[to]);
  free(in);
  free(sends);
  free(out);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0, numbers[threads];
  pthread_t all[threads];
  if (argc != 3) return 2;
  seed = (unsigned)strtoul(argv[1], NULL, 10);
  turns = atoi(argv[2]);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) puts("LEVEL");
    MPI_Finalize();
    return 0;
  }
  for (int t = 0; t <= threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    pthread_create(&all[t], NULL, traffic, &numbers[t]);
  }
  for (int t = 0; t < threads; ++t) pthread_join(all[t], NULL);
  for (int t = 0; t <= threads; ++t) MPI_Comm_free(&comms[t]);
  int own = failures, sum = 0;
  MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(sum == 0 ? "OK\n" : "%d failures\n", sum);
  MPI_Finalize();
  return 0;
}
