// SPDX-License-Identifier: BSD-3-Clause
// How long messages between rank 0 and the others take:
//     messages WHAT NUMBER [WINDOWS]
// Rank 0 prints the seconds of each of several windows. WHAT is one of these:
// - latency: half a round trip of NUMBER bytes between the ranks 0 and 1.
// - first: one of the program's first 1,000 messages, by round trips. There is one window of it.
// - rate: a message of NUMBER bytes among 64 that are under way.
// - ahead: half a round trip of 0 bytes behind NUMBER receives that wait for others.
// - ahead_any: the same by MPI_ANY_SOURCE.
// - drain: a message of NUMBER, sent in the reverse order of their receives.
// - gather: the same, from all other ranks.
// - ring: a step in which every rank sends NUMBER bytes to the next one.
// - random: a step in which every rank sends NUMBER bytes to four others, by chance.
// - fan_in: a message of NUMBER bytes, of all other ranks to rank 0, which takes them by MPI_ANY_SOURCE.
// - multiple: as rate, with MPI_THREAD_MULTIPLE.
// - threads: the same of two threads in each rank, with a communicator for each of them.
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void print(double seconds) {
  if (rank == 0) printf("%.4g\n", seconds);
}

static double round_trips(char* data, int bytes, int count, int source) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    if (rank == 0) {
      MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(data, bytes, MPI_BYTE, source < 0 ? MPI_ANY_SOURCE : 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(data, bytes, MPI_BYTE, source < 0 ? MPI_ANY_SOURCE : 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) / count / 2;
}

// So many that a window takes a few milliseconds.
static int count_for(double seconds) {
  int count = seconds > 0 ? (int)(5e-3 / seconds) : 1000;
  count = count < 4 ? 4 : count > 20000 ? 20000 : count;
  MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return count;
}

static void latency(int bytes, int windows, int source) {
  char* data = calloc((size_t)bytes + 1, 1);
  const int count = count_for(round_trips(data, bytes, 10, source));
  for (int w = 0; w < windows; ++w) {
    MPI_Barrier(MPI_COMM_WORLD);
    print(round_trips(data, bytes, count, source));
  }
  free(data);
}

static void first(int bytes) {
  enum { messages = 1000 };
  char* data = calloc((size_t)bytes + 1, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  print(round_trips(data, bytes, messages / 2, 0));
  free(data);
}

enum { under_way = 64, rounds = 100, most_threads = 2 };

// What one thread does: messages from rank 0 to rank 1.
struct Stream {
  MPI_Comm comm;
  int bytes;
  char* data;
};
static void* send_and_receive(void* of) {
  const struct Stream* stream = of;
  MPI_Request requests[under_way];
  for (int round = 0; round < rounds && rank < 2; ++round) {
    for (int i = 0; i < under_way; ++i) {
      char* data = stream->data + i * stream->bytes;
      if (rank == 0) {
        MPI_Isend(data, stream->bytes, MPI_BYTE, 1, i, stream->comm, &requests[i]);
      } else {
        MPI_Irecv(data, stream->bytes, MPI_BYTE, 0, i, stream->comm, &requests[i]);
      }
    }
    MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
  }
  return NULL;
}

static void rate(int bytes, int windows, int threads) {
  struct Stream streams[most_threads];
  for (int t = 0; t < threads; ++t) {
    streams[t] = (struct Stream){MPI_COMM_WORLD, bytes, calloc((size_t)(bytes + 1) * under_way, 1)};
    if (threads > 1) MPI_Comm_dup(MPI_COMM_WORLD, &streams[t].comm);
  }
  for (int w = 0; w < windows; ++w) {
    pthread_t others[most_threads];
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int t = 1; t < threads; ++t) pthread_create(&others[t], NULL, send_and_receive, &streams[t]);
    send_and_receive(&streams[0]);
    for (int t = 1; t < threads; ++t) pthread_join(others[t], NULL);
    // The sender's time alone would leave out what still lies somewhere.
    MPI_Barrier(MPI_COMM_WORLD);
    print((MPI_Wtime() - begin) / rounds / under_way / threads);
  }
  for (int t = 0; t < threads; ++t) {
    if (threads > 1) MPI_Comm_free(&streams[t].comm);
    free(streams[t].data);
  }
}

static void ahead(int depth, int windows, int source) {
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)(depth + 1));
  for (int i = 0; i < depth && rank < 2; ++i)
    MPI_Irecv(NULL, 0, MPI_BYTE, 1 - rank, 1 + i, MPI_COMM_WORLD, &requests[i]);
  latency(0, windows, source);
  for (int i = 0; i < depth && rank < 2; ++i) MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, 1 + i, MPI_COMM_WORLD);
  if (rank < 2) MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

// Rank 0's receives, of each sender in the order of tags; the messages come in the reverse order.
static void drain(int depth, int senders, int windows) {
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)(depth * senders));
  for (int w = 0; w < windows; ++w) {
    int posted = 0;
    for (int s = 1; s <= senders && rank == 0; ++s) {
      for (int i = 0; i < depth; ++i) MPI_Irecv(NULL, 0, MPI_BYTE, s, i, MPI_COMM_WORLD, &requests[posted++]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (rank == 0) MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    for (int i = depth - 1; i >= 0 && rank > 0 && rank <= senders; --i)
      MPI_Send(NULL, 0, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    print((MPI_Wtime() - begin) / depth / senders);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(requests);
}

// Steps of `make`, of which one is `per_step` of what is printed.
static void steps(void (*make)(char*, int), int bytes, int windows, double per_step) {
  enum { first_look = 5 };
  char* data = calloc((size_t)(bytes + 1) * 16, 1);
  make(data, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < first_look; ++i) make(data, bytes);
  // Windows of 20 ms: many ranks of a core come to run several times.
  const int count = count_for((MPI_Wtime() - begin) / first_look / 4);
  for (int w = 0; w < windows; ++w) {
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < count; ++i) make(data, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    print((MPI_Wtime() - begin) / count / per_step);
  }
  free(data);
}

static void ring(char* data, int bytes) {
  MPI_Sendrecv(data, bytes, MPI_BYTE, (rank + 1) % size, 1, data + bytes, bytes, MPI_BYTE,
               (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// All ranks draw the same distances.
static void random_exchange(char* data, int bytes) {
  enum { others = 4 };
  static unsigned state = 1;
  MPI_Request requests[2 * others];
  int distances[others];
  for (int i = 0; i < others; ++i) {
    state = state * 1664525U + 1013904223U;
    distances[i] = 1 + (int)((state >> 8) % (unsigned)(size - 1));
    MPI_Irecv(data + i * bytes, bytes, MPI_BYTE, (rank + size - distances[i]) % size, i, MPI_COMM_WORLD,
              &requests[i]);
  }
  for (int i = 0; i < others; ++i)
    MPI_Isend(data + (others + i) * bytes, bytes, MPI_BYTE, (rank + distances[i]) % size, i, MPI_COMM_WORLD,
              &requests[others + i]);
  MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
}

static void fan_in(char* data, int bytes) {
  if (rank != 0) MPI_Send(data, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  for (int i = 1; i < size && rank == 0; ++i)
    MPI_Recv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const int is_threaded = argc > 1 && (strcmp(argv[1], "multiple") == 0 || strcmp(argv[1], "threads") == 0);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || size < 2 || (is_threaded && provided != MPI_THREAD_MULTIPLE)) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* what = argv[1];
  const int number = atoi(argv[2]), windows = argc > 3 ? atoi(argv[3]) : 20;
  if (strcmp(what, "latency") == 0) latency(number, windows, 0);
  if (strcmp(what, "first") == 0) first(number);
  if (strcmp(what, "rate") == 0 || strcmp(what, "multiple") == 0) rate(number, windows, 1);
  if (strcmp(what, "threads") == 0) rate(number, windows, most_threads);
  if (strcmp(what, "ahead") == 0) ahead(number, windows, 0);
  if (strcmp(what, "ahead_any") == 0) ahead(number, windows, -1);
  if (strcmp(what, "drain") == 0) drain(number, 1, windows < 5 ? windows : 5);
  if (strcmp(what, "gather") == 0) drain(number, size - 1, windows < 5 ? windows : 5);
  if (strcmp(what, "ring") == 0) steps(ring, number, windows, 1);
  if (strcmp(what, "random") == 0) steps(random_exchange, number, windows, 1);
  if (strcmp(what, "fan_in") == 0) steps(fan_in, number, windows, size - 1);
  MPI_Finalize();
  return 0;
}
