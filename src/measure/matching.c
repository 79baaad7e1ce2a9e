// SPDX-License-Identifier: BSD-3-Clause
// The source's micro-benchmarks of matching (M5, section 6.3) between real ranks: all others fill a queue of
// rank 0. It is emptied forward, from the middle on, or in reverse. The MPI's own functions and those by
// name, which may go by way of Unisono, take turns.
//     matching ROUNDS APART QUEUE:ORDER:WILD:DEPTH...
// Rank 0 prints a line of JSON for each: seconds a message, by round and way.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_library.h"

enum { native, by_name, ways, most_rounds = 1000 };

static struct {
  int (*isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*waitall)(int, MPI_Request*, MPI_Status*);
  int (*iprobe)(int, int, MPI_Comm, int*, MPI_Status*);
} functions[ways];

static struct {
  int is_posted;  // the queue that is filled: receives, else messages
  char order;     // f, m or r
  int wild;       // percent of receives that ask for any source
  int depth;
} asked;

static int rank, senders, apart;
static int *values, *drain, *is_wild;
static MPI_Request* requests;

static int sender_of(int i) {
  return 1 + i % senders;
}

static void plan(void) {
  unsigned random = 7;
  for (int i = 0; i < asked.depth; ++i) {
    random = random * 1664525u + 1013904223u;
    is_wild[i] = (int)(random >> 16) % 100 < asked.wild;
    drain[i] = i;
    if (asked.order == 'r') drain[i] = asked.depth - 1 - i;
    if (asked.order == 'm') drain[i] = (i + asked.depth / 2) % asked.depth;
  }
}

static void receive(int way, int i) {
  functions[way].irecv(&values[i], 1, MPI_INT, is_wild[i] ? MPI_ANY_SOURCE : sender_of(i), i * apart,
                       MPI_COMM_WORLD, &requests[i]);
}

// What this rank sends, in the order in which the queue is filled or emptied.
static void send_own(int way, int is_in_order) {
  int count = 0;
  for (int k = 0; k < asked.depth; ++k) {
    const int i = is_in_order ? k : drain[k];
    if (sender_of(i) != rank) continue;
    values[i] = i;
    functions[way].isend(&values[i], 1, MPI_INT, 0, i * apart, MPI_COMM_WORLD, &requests[count++]);
  }
  functions[way].waitall(count, requests, MPI_STATUSES_IGNORE);
}

// Until rank 0's queue has all: the last one of each sender came behind its others.
static void take_in(int way) {
  for (int i = asked.depth > senders ? asked.depth - senders : 0; i < asked.depth; ++i) {
    int is_there = 0;
    while (!is_there)
      functions[way].iprobe(sender_of(i), i * apart, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
  }
}

static void check(void) {
  for (int i = 0; i < asked.depth; ++i) {
    if (values[i] != i) {
      fprintf(stderr, "matching: receive %d has got message %d\n", i, values[i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    values[i] = -1;
  }
}

// Seconds a message, on rank 0.
static double fill_and_drain(int way) {
  double begin = 0;
  if (rank == 0 && asked.is_posted) {
    for (int i = 0; i < asked.depth; ++i) receive(way, i);
  } else if (rank == 0) {
    take_in(way);
  } else if (!asked.is_posted) {
    send_own(way, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  if (rank == 0) {
    for (int k = 0; k < asked.depth && !asked.is_posted; ++k) receive(way, drain[k]);
    functions[way].waitall(asked.depth, requests, MPI_STATUSES_IGNORE);
  } else if (asked.is_posted) {
    send_own(way, 0);
  }
  const double took = (MPI_Wtime() - begin) / asked.depth;
  if (rank == 0) check();
  return took;
}

static void measure(int rounds) {
  static double took[ways][most_rounds];
  plan();
  for (int way = 0; way < ways; ++way) fill_and_drain(way);  // nobody's memory is new then
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < ways; ++i) {
      const int way = (i + round) % ways;
      took[way][round] = fill_and_drain(way);
    }
  }
  if (rank != 0) return;
  printf("{\"queue\": \"%s\", \"order\": \"%s\", \"any_source\": %d, \"depth\": %d, \"senders\": %d",
         asked.is_posted ? "posted" : "unexpected",
         asked.order == 'f'   ? "forward"
         : asked.order == 'm' ? "middle"
                              : "reverse",
         asked.wild, asked.depth, senders);
  for (int way = 0; way < ways; ++way) {
    printf(", \"%s\": [", way == native ? "native_s" : "unisono_s");
    for (int round = 0; round < rounds; ++round) printf("%s%.4g", round == 0 ? "" : ", ", took[way][round]);
    printf("]");
  }
  printf("}\n");
  fflush(stdout);
}

static void find_functions(void) {
  void* host = host_library();
  if (host == NULL) {
    fprintf(stderr, "matching: the MPI's own functions were not found\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
#define FUNCTION(member, Name)                           \
  functions[native].member = dlsym(host, "PMPI_" #Name); \
  functions[by_name].member = MPI_##Name;
  FUNCTION(isend, Isend)
  FUNCTION(irecv, Irecv)
  FUNCTION(waitall, Waitall)
  FUNCTION(iprobe, Iprobe)
#undef FUNCTION
}

int main(int argc, char** argv) {
  int size = 0, length = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  senders = size - 1;
  const int rounds = argc > 2 ? atoi(argv[1]) : 0;
  apart = argc > 2 ? atoi(argv[2]) : 0;
  if (senders < 1) {  // which the command says
    printf("{\"ranks\": %d}\n", size);
    MPI_Finalize();
    return 0;
  }
  if (apart < 1 || rounds < 1 || rounds > most_rounds) {
    if (rank == 0) fprintf(stderr, "matching: wants ROUNDS APART CELL...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  find_functions();
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n\"\\,")] = '\0';
  for (char* c = library; *c != '\0'; ++c) {
    if (*c == '\t') *c = ' ';
  }
  if (rank == 0) printf("{\"library\": \"%s\", \"ranks\": %d}\n", library, size);
  for (int i = 3; i < argc; ++i) {
    char queue = 0;
    if (sscanf(argv[i], "%c:%c:%d:%d", &queue, &asked.order, &asked.wild, &asked.depth) != 4 ||
        asked.depth < 1)
      MPI_Abort(MPI_COMM_WORLD, 2);
    asked.is_posted = queue == 'p';
    const size_t count = (size_t)asked.depth;
    values = calloc(count, sizeof *values);
    drain = calloc(count, sizeof *drain);
    is_wild = calloc(count, sizeof *is_wild);
    requests = calloc(count, sizeof(MPI_Request));
    if (values == NULL || drain == NULL || is_wild == NULL || requests == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    measure(rounds);
    free(values);
    free(drain);
    free(is_wild);
    free(requests);
  }
  MPI_Finalize();
  return 0;
}
