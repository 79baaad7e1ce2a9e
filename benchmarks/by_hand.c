// SPDX-License-Identifier: BSD-3-Clause
// The same messages twice: an algorithm written straight on MPI calls, and Unisono's schedule of it, in turn
// in one run. Started by by_hand.py, with Unisono preloaded.
//
//   by_hand [--samples N] [--seconds S] 'OPERATION:ALGORITHM' BYTES ...
//
// Rank 0 prints one JSON object for each pair of an algorithm and a size:
// {"algorithm","bytes","ranks","batch","is_same","hand_s":[...],"unisono_s":[...]}: seconds of a call, of the
// longest rank, of alternating batches. Where Unisono would not run the algorithm the pair is left out.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measured_operations.h"

enum { max_samples = 2000, least_samples = 5, tag = 1, lead_in = 4 };

static int (*set_enabled)(int);
static int (*set_algorithm)(const char*);
static int (*decision)(const char*, long long, char*, size_t);
static double* scratch;

static int least(int a, int b) {
  return a < b ? a : b;
}

// --- Algorithms as one writes them ---

static void exchange(const void* out, int out_bytes, int to, void* in, int in_bytes, int from) {
  MPI_Request requests[2];
  MPI_Irecv(in, in_bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, out_bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void dissemination(int bytes, int segment) {
  (void)bytes, (void)segment;
  for (int distance = 1; distance < size; distance *= 2) {
    exchange(NULL, 0, (rank + distance) % size, NULL, 0, (rank + size - distance) % size);
  }
}

static void binomial_bcast(int bytes, int segment) {
  (void)segment;
  int mask = 1;
  for (; mask < size; mask *= 2) {
    if (rank & mask) {
      MPI_Recv(output, bytes, MPI_BYTE, rank - mask, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    }
  }
  MPI_Request requests[32];
  int sends = 0;
  for (mask /= 2; mask > 0; mask /= 2) {
    if (rank + mask >= size) continue;
    MPI_Isend(output, bytes, MPI_BYTE, rank + mask, tag, MPI_COMM_WORLD, &requests[sends++]);
  }
  MPI_Waitall(sends, requests, MPI_STATUSES_IGNORE);
}

// Of a power of two ranks.
static void recursive_doubling_allreduce(int bytes, int segment) {
  (void)segment;
  memcpy(output, input, (size_t)bytes);
  for (int distance = 1; distance < size; distance *= 2) {
    exchange(output, bytes, rank ^ distance, scratch, bytes, rank ^ distance);
    for (int i = 0; i < bytes / 8; ++i) output[i] += scratch[i];
  }
}

static void ring_allgather(int bytes, int segment) {
  (void)segment;
  char* blocks = (char*)output;
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  memcpy(blocks + (size_t)rank * (size_t)bytes, input, (size_t)bytes);
  for (int round = 0; round < size - 1; ++round) {
    const size_t out = (size_t)((rank + size - round) % size),
                 in = (size_t)((rank + 2 * size - round - 1) % size);
    exchange(blocks + out * (size_t)bytes, bytes, next, blocks + in * (size_t)bytes, bytes, previous);
  }
}

static void pairwise_alltoall(int bytes, int segment) {
  (void)segment;
  const char* out = (const char*)input;
  char* in = (char*)output;
  memcpy(in + (size_t)rank * (size_t)bytes, out + (size_t)rank * (size_t)bytes, (size_t)bytes);
  for (int round = 1; round < size; ++round) {
    const int to = (rank + round) % size, from = (rank + size - round) % size;
    exchange(out + (size_t)to * (size_t)bytes, bytes, to, in + (size_t)from * (size_t)bytes, bytes, from);
  }
}

// Double buffering: the next segment is on its way in while this one is on its way out.
static void chain_bcast(int bytes, int segment) {
  char* data = (char*)output;
  const int count = (bytes + segment - 1) / segment;
  const int has_next = rank + 1 < size, has_previous = rank > 0;
  MPI_Request in[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, out[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int k = 0; has_previous && k < 2 && k < count; ++k) {
    MPI_Irecv(data + (size_t)k * (size_t)segment, least(segment, bytes - k * segment), MPI_BYTE, rank - 1,
              tag, MPI_COMM_WORLD, &in[k]);
  }
  for (int k = 0; k < count; ++k) {
    char* at = data + (size_t)k * (size_t)segment;
    if (has_previous) {
      MPI_Wait(&in[k % 2], MPI_STATUS_IGNORE);
      if (k + 2 < count) {
        MPI_Irecv(at + 2 * (size_t)segment, least(segment, bytes - (k + 2) * segment), MPI_BYTE, rank - 1,
                  tag, MPI_COMM_WORLD, &in[k % 2]);
      }
    }
    if (has_next) {
      MPI_Wait(&out[k % 2], MPI_STATUS_IGNORE);
      MPI_Isend(at, least(segment, bytes - k * segment), MPI_BYTE, rank + 1, tag, MPI_COMM_WORLD,
                &out[k % 2]);
    }
  }
  MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
}

struct Pair {
  const char *operation, *algorithm;
  void (*by_hand)(int bytes, int segment);
  Run call;
};
static const struct Pair pairs[] = {
    {"barrier", "dissemination", dissemination, run_barrier},
    {"bcast", "binomial", binomial_bcast, run_bcast},
    {"bcast", "chain", chain_bcast, run_bcast},
    {"allreduce", "recursive_doubling", recursive_doubling_allreduce, run_allreduce},
    {"allgather", "ring", ring_allgather, run_allgather},
    {"alltoall", "pairwise", pairwise_alltoall, run_alltoall},
};

// --- In turn ---

static void run(const struct Pair* pair, int bytes, int segment, int is_by_hand) {
  if (is_by_hand) {
    pair->by_hand(bytes, segment);
  } else {
    pair->call(bytes);
  }
}

static double time_batch(const struct Pair* pair, int bytes, int segment, int batch, int is_by_hand) {
  set_enabled(0);
  MPI_Barrier(MPI_COMM_WORLD);
  // Neither goes through Unisono by hand: what is measured is the MPI's own cost.
  set_enabled(!is_by_hand);
  for (int i = 0; i < lead_in; ++i) run(pair, bytes, segment, is_by_hand);
  const double start = now_s();
  for (int i = 0; i < batch; ++i) run(pair, bytes, segment, is_by_hand);
  double mine = (now_s() - start) / batch, longest;
  set_enabled(0);
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static int is_same(const struct Pair* pair, int bytes, int segment, size_t room) {
  double* expected = malloc(room);
  if (expected == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int is_unisono = 0; is_unisono < 2; ++is_unisono) {
    fill(input, room, rank);
    fill(output, room, rank + 100);
    set_enabled(is_unisono);
    run(pair, bytes, segment, !is_unisono);
    set_enabled(0);
    if (!is_unisono) memcpy(expected, output, room);
  }
  int same = memcmp(expected, output, room) == 0, all;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  free(expected);
  return all;
}

static void print_samples(const char* key, const double* samples, int count) {
  printf(", \"%s\": [", key);
  for (int i = 0; i < count; ++i) printf("%s%.5g", i ? ", " : "", samples[i]);
  printf("]");
}

static int measure(const struct Pair* pair, const char* text, int bytes, int samples, double seconds,
                   size_t room) {
  char decided[256] = "";
  if (set_algorithm(text) < 0 || decision(pair->operation, bytes, decided, sizeof decided) < 0) return 0;
  if (strncmp(decided, pair->algorithm, strlen(pair->algorithm)) != 0) return 1;
  const char* cut = strstr(text, "segment=");
  const int segment = cut == NULL ? bytes : atoi(cut + strlen("segment="));
  const int same = is_same(pair, bytes, segment, room);
  int batch = 1;
  for (; batch < 1 << 14; batch *= 2) {
    if (time_batch(pair, bytes, segment, batch, 0) * batch > 2e-3) break;
  }
  static double times[2][max_samples];
  int count = 0;
  const double start = now_s();
  for (int go = 1; go && count < samples; ++count) {
    for (int i = 0; i < 2; ++i) {
      const int which = (i + count) % 2;
      times[which][count] = time_batch(pair, bytes, segment, batch, which);
    }
    go = now_s() - start < seconds || count + 1 < least_samples;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    printf("{\"algorithm\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"batch\": %d, \"is_same\": %s", text,
           bytes, size, batch, same ? "true" : "false");
    print_samples("unisono_s", times[0], count);
    print_samples("hand_s", times[1], count);
    printf("}\n");
    fflush(stdout);
  }
  return same;
}

static const struct Pair* find(const char* text) {
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    const size_t operation = strlen(pairs[i].operation), algorithm = strlen(pairs[i].algorithm);
    if (strncmp(text, pairs[i].operation, operation) != 0 || text[operation] != ':') continue;
    const char* name = text + operation + 1;
    if (strncmp(name, pairs[i].algorithm, algorithm) == 0 &&
        (name[algorithm] == 0 || name[algorithm] == '(')) {
      return &pairs[i];
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int samples = 100, first = 1;
  double seconds = 1;
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    if (strcmp(argv[first], "--samples") == 0) samples = least(atoi(argv[first + 1]), max_samples);
    if (strcmp(argv[first], "--seconds") == 0) seconds = atof(argv[first + 1]);
  }
  set_enabled = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  set_algorithm = (int (*)(const char*))dlsym(RTLD_DEFAULT, "unisono_set_algorithm");
  decision = (int (*)(const char*, long long, char*, size_t))dlsym(RTLD_DEFAULT, "unisono_decision");
  if (set_enabled == NULL || set_algorithm == NULL || decision == NULL) {
    if (rank == 0) fprintf(stderr, "by_hand: does not run under Unisono\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int largest = 8;
  for (int i = first; i + 1 < argc; i += 2) {
    if (atoi(argv[i + 1]) > largest) largest = atoi(argv[i + 1]);
  }
  const size_t room = ((size_t)largest * (size_t)size + 4095) / 4096 * 4096;
  input = aligned_alloc(4096, room);
  output = aligned_alloc(4096, room);
  scratch = aligned_alloc(4096, room);
  if (input == NULL || output == NULL || scratch == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(input, 0, room), memset(output, 0, room), memset(scratch, 0, room);
  set_enabled(0);
  int is_all_same = 1;
  for (int i = first; i + 1 < argc; i += 2) {
    const struct Pair* pair = find(argv[i]);
    if (pair == NULL) {
      if (rank == 0) fprintf(stderr, "by_hand: %s is not written by hand\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    is_all_same &= measure(pair, argv[i], atoi(argv[i + 1]), samples, seconds, room);
  }
  set_enabled(1);
  MPI_Finalize();
  return is_all_same ? 0 : 1;
}
