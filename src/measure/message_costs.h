// SPDX-License-Identifier: BSD-3-Clause
// What messages of the host MPI and operations on the node's shared memory cost (A9, sections 5.3.1 to
// 5.3.3), as `unisono machine measure` asks for them. A few ranks measure; all others sleep meanwhile.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measuring_groups.h"

enum { most_series = 3, most_cost_samples = 400, least_cost_samples = 7, most_burst = 32 };
enum { cost_tag = 77, burst_bytes = 8 << 20 };
static const double sample_s = 400e-6;  // a sample's length, where an operation is that short

typedef double OperationTime(const void* comm, const char* what, long long bytes, int buffers,
                             const char* wait, int repetitions);
static OperationTime* operation_time;

// --- Messages, polled for as the executor does it ---

static char *sent, *received;

static void complete(MPI_Request* requests, int count) {
  int is_done = 0;
  for (unsigned polls = 1; !is_done; ++polls) {
    MPI_Testall(count, requests, &is_done, MPI_STATUSES_IGNORE);
    if (!is_done && polls % 16 == 0) sched_yield();
  }
}

static void send_to(MPI_Comm comm, int peer, int bytes) {
  MPI_Request request;
  MPI_Isend(sent, bytes, MPI_BYTE, peer, cost_tag, comm, &request);
  complete(&request, 1);
}

static void receive_from(MPI_Comm comm, int peer, int bytes) {
  MPI_Request request;
  MPI_Irecv(received, bytes, MPI_BYTE, peer, cost_tag, comm, &request);
  complete(&request, 1);
}

// Half a round trip.
// With `writing_s` each message is written anew before it is sent, which takes so long in all.
static double ping_pong(MPI_Comm comm, int own, int bytes, int repetitions, double* writing_s) {
  const int peer = own ^ 1;
  double* words = (double*)sent;
  const double start = now_s();
  for (int i = 0; i < repetitions; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(received, bytes, MPI_BYTE, peer, cost_tag, comm, &requests[0]);
    if (own % 2 == 1) complete(requests, 1);
    if (writing_s != NULL) {
      const double before = now_s();
      for (size_t w = 0; w < (size_t)bytes / sizeof *words; ++w) words[w] = i;
      *writing_s += now_s() - before;
    }
    MPI_Isend(sent, bytes, MPI_BYTE, peer, cost_tag, comm, &requests[1]);
    complete(requests + own % 2, 2 - own % 2);
  }
  return (now_s() - start) / repetitions / 2;
}

// os(m), or(m): what the sender's call takes, and the receiver's to get a message that is there.
static void overheads(MPI_Comm comm, int own, int bytes, double half_s, double* times) {
  const int peer = own ^ 1;
  MPI_Request request;
  if (own % 2 == 0) {
    receive_from(comm, peer, 0);
    const double start = now_s();
    MPI_Isend(sent, bytes, MPI_BYTE, peer, cost_tag, comm, &request);
    times[0] = now_s() - start;
    complete(&request, 1);
  } else {
    MPI_Irecv(received, bytes, MPI_BYTE, peer, cost_tag, comm, &request);
    send_to(comm, peer, 0);
    for (const double start = now_s(); now_s() - start < 4 * half_s + 10e-6;) continue;
    const double start = now_s();
    complete(&request, 1);
    times[1] = now_s() - start;
  }
}

// `count` messages on their way at once, as the sender sees it until the last one is acknowledged. With
// `is_copying` both sides copy as many bytes as a message has beside each (5.3.3).
static double burst(MPI_Comm comm, int own, int bytes, int count, int is_copying) {
  const int peer = own ^ 1;
  static MPI_Request requests[most_burst];
  double taken = 0;
  if (own % 2 == 0) {
    receive_from(comm, peer, 0);
    const double start = now_s();
    for (int i = 0; i < count; ++i) {
      int is_progressing;
      MPI_Isend(sent, bytes, MPI_BYTE, peer, cost_tag, comm, &requests[i]);
      if (!is_copying) continue;
      memcpy(received, sent, (size_t)bytes);
      MPI_Testall(i + 1, requests, &is_progressing, MPI_STATUSES_IGNORE);
    }
    complete(requests, count);
    receive_from(comm, peer, 0);
    taken = now_s() - start;
  } else {
    for (int i = 0; i < count; ++i) {
      MPI_Irecv(received + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, peer, cost_tag, comm, &requests[i]);
    }
    send_to(comm, peer, 0);
    for (int i = 0; is_copying && i < count; ++i) {
      complete(&requests[i], 1);
      memcpy(sent, received + (size_t)i * (size_t)bytes, (size_t)bytes);
    }
    complete(requests, count);
    send_to(comm, peer, 0);
  }
  return taken;
}

// --- Samples ---

// Of one question: up to most_series numbers in seconds; less than 0: this rank has none.
struct Cost {
  const char* what;
  int bytes, buffers;  // buffers: of a serial reduction its children
  const char* wait;
  int repetitions;
  double half_s;  // of a ping-pong
  int own;        // rank in the group
};
typedef void Sample(MPI_Comm comm, const struct Cost* cost, double* times);

static void sample_ping_pong(MPI_Comm comm, const struct Cost* cost, double* times) {
  times[0] = ping_pong(comm, cost->own, cost->bytes, cost->repetitions, NULL);
}

// The same of data that the sender has just written, without the time for that.
static void sample_fresh(MPI_Comm comm, const struct Cost* cost, double* times) {
  double writing = 0;
  const double half = ping_pong(comm, cost->own, cost->bytes, cost->repetitions, &writing);
  // Both write as long.
  if (cost->own % 2 == 0) times[0] = half - writing / cost->repetitions;
}

static void sample_overheads(MPI_Comm comm, const struct Cost* cost, double* times) {
  double sums[2] = {0, 0};
  for (int i = 0; i < cost->repetitions; ++i) {
    double once[2] = {0, 0};
    overheads(comm, cost->own, cost->bytes, cost->half_s, once);
    sums[0] += once[0], sums[1] += once[1];
  }
  times[cost->own % 2] = sums[cost->own % 2] / cost->repetitions;
}

// The root hears from its children one after the other, and joins each one's vector with its own (N6,
// section 4.1). The other ranks are the children in turn: where there are fewer, each is several of them.
// Begins when the last one is told to.
static void sample_serial(MPI_Comm comm, const struct Cost* cost, double* times) {
  const int children = cost->buffers;
  int others = 0;
  MPI_Comm_size(comm, &others);
  const int senders = children < --others ? children : others;
  double* joined = (double*)sent;
  const double* heard = (const double*)received;
  double taken = 0;
  for (int i = 0; i < cost->repetitions; ++i) {
    if (cost->own == 0) {
      for (int s = 1; s <= senders; ++s) send_to(comm, s, 0);
      const double start = now_s();
      for (int child = 0; child < children; ++child) {
        receive_from(comm, 1 + child % others, cost->bytes);
        for (int k = 0; k < cost->bytes / 8; ++k) joined[k] += heard[k];
      }
      taken += now_s() - start;
    } else if (cost->own <= senders) {
      receive_from(comm, 0, 0);
      for (int child = cost->own - 1; child < children; child += others) send_to(comm, 0, cost->bytes);
    }
  }
  if (cost->own == 0) times[0] = taken / cost->repetitions;
}

static int burst_length(int bytes) {
  const int count = bytes == 0 ? most_burst : burst_bytes / bytes;
  return count > most_burst ? most_burst : count < 2 ? 2 : count;
}

// g(m): by how much each further message of a burst makes it longer. All pairs of the group send at once.
static void sample_gap(MPI_Comm comm, const struct Cost* cost, double* times) {
  const int count = burst_length(cost->bytes);
  double pair[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Barrier(comm);
    const double taken = burst(comm, cost->own, cost->bytes, i == 0 ? 1 : count, 0);
    MPI_Allreduce(&taken, &pair[i], 1, MPI_DOUBLE, MPI_MAX, comm);
  }
  times[0] = pair[1] > pair[0] ? (pair[1] - pair[0]) / (count - 1) : pair[1] / count;
}

// A message of a burst without and with a copy of as many bytes beside it, and the copy alone.
static void sample_overlap(MPI_Comm comm, const struct Cost* cost, double* times) {
  const int count = burst_length(cost->bytes);
  for (int is_copying = 0; is_copying < 2; ++is_copying) {
    const double taken = burst(comm, cost->own, cost->bytes, count, is_copying);
    times[is_copying] = taken / count;
  }
  const double start = now_s();
  for (int i = 0; i < count; ++i) {
    memcpy(sent, received + (size_t)i * (size_t)cost->bytes, (size_t)cost->bytes);
    __asm__ volatile("" : : "r"(sent) : "memory");
  }
  times[2] = (now_s() - start) / count;
}

static void sample_operation(MPI_Comm comm, const struct Cost* cost, double* times) {
  times[0] = operation_time(&comm, cost->what, cost->bytes, cost->buffers, cost->wait, cost->repetitions);
}

// Two ranks that yield to each other on one core: half a round trip of a flag is one switch.
static void sample_switch(MPI_Comm comm, const struct Cost* cost, double* times) {
  cpu_set_t usual, one;
  int core = 0, is_there, is_everywhere;
  sched_getaffinity(0, sizeof usual, &usual);
  while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &usual)) ++core;
  MPI_Bcast(&core, 1, MPI_INT, 0, comm);
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  is_there = sched_setaffinity(0, sizeof one, &one) == 0;
  MPI_Allreduce(&is_there, &is_everywhere, 1, MPI_INT, MPI_MIN, comm);
  if (is_everywhere) {
    const double half = operation_time(&comm, "pair_sync", 0, 1, "yield", cost->repetitions);
    if (cost->own == 0) times[0] = half;
  }
  sched_setaffinity(0, sizeof usual, &usual);
}

// A whole collective call, "call OPERATION:ALGORITHM", on the group alone.
static void sample_call(MPI_Comm group, const struct Cost* cost, double* times) {
  const char* algorithm = strchr(cost->what, ' ') + 1;
  const struct Operation* op = NULL;
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
    const size_t length = strlen(operations[o].name);
    if (strncmp(operations[o].name, algorithm, length) == 0 && algorithm[length] == ':') op = &operations[o];
  }
  if (op == NULL || set_algorithm == NULL || set_algorithm(algorithm) != 0) return;
  const MPI_Comm usual = comm;
  comm = group;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < lead_in; ++i) op->run(cost->bytes);
  const double start = now_s();
  for (int i = 0; i < cost->repetitions; ++i) op->run(cost->bytes);
  times[0] = (now_s() - start) / cost->repetitions;
  comm = usual;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  set_algorithm("");
}

static const struct CostKind {
  const char* what;
  Sample* sample;
  const char* series[most_series];
} cost_kinds[] = {
    {"ping_pong", sample_ping_pong, {"half"}},
    {"fresh", sample_fresh, {"half"}},
    {"overheads", sample_overheads, {"os", "or"}},
    {"gap", sample_gap, {"gap"}},
    {"serial", sample_serial, {"time"}},
    {"overlap", sample_overlap, {"alone", "beside", "copy"}},
    {"switch", sample_switch, {"switch"}},
    {"call", sample_call, {"time"}},
    {"", sample_operation, {"time"}},  // all others: of shared memory
};

// How many repetitions make a sample long enough for the clock, by a first try; the same for all.
static int enough_repetitions(MPI_Comm comm, Sample* sample, struct Cost* cost) {
  double times[most_series] = {-1, -1, -1}, longest = 0;
  cost->repetitions = 2;
  sample(comm, cost, times);  // makes what is made once
  cost->repetitions = 8;
  const double start = now_s();
  sample(comm, cost, times);
  const double taken = (now_s() - start) / cost->repetitions;
  MPI_Allreduce(&taken, &longest, 1, MPI_DOUBLE, MPI_MAX, comm);
  const double wanted = sample_s / longest;
  // As many calls in a row as predictions of short calls count on.
  const int least = sample == sample_call ? 16 : 4;
  return wanted < least ? least : wanted > 2000 ? 2000 : (int)wanted;
}

// The longest rank's time of each sample; returns how many.
static int take_samples(MPI_Comm comm, const struct CostKind* kind, struct Cost* cost, double seconds,
                        double samples[most_series][most_cost_samples]) {
  if (kind->sample == sample_overheads) cost->half_s = ping_pong(comm, cost->own, cost->bytes, 20, NULL);
  cost->repetitions = enough_repetitions(comm, kind->sample, cost);
  int count = 0;
  const double start = now_s();
  for (int go = 1; go && count < most_cost_samples; ++count) {
    double times[most_series] = {-1, -1, -1}, longest[most_series];
    MPI_Barrier(comm);
    kind->sample(comm, cost, times);
    MPI_Allreduce(times, longest, most_series, MPI_DOUBLE, MPI_MAX, comm);
    for (int s = 0; s < most_series; ++s) samples[s][count] = longest[s];
    go = now_s() - start < seconds || count + 1 < least_cost_samples;
    MPI_Bcast(&go, 1, MPI_INT, 0, comm);
  }
  return count;
}

// Answers what a group of ranks measures; rank 0 prints. What is not possible here has no series.
// 0 where the question makes no sense.
static int answer_cost(const char* what, int bytes, double seconds, char* detail) {
  static double samples[most_series][most_cost_samples];
  char* buffers = strchr(detail, ',');
  char* wait = buffers == NULL ? NULL : strchr(buffers + 1, ',');
  if (wait == NULL) return 0;
  *buffers++ = 0, *wait++ = 0;
  struct Group* group = find_group(detail);
  if (group == NULL) return 0;
  const struct CostKind* kind = cost_kinds;
  const size_t word = strcspn(what, " ");
  while (kind->what[0] != 0 && (strlen(kind->what) != word || strncmp(kind->what, what, word) != 0)) ++kind;
  int count = 0;
  // Whatever ranks tell each other meanwhile goes by Unisono, which gives cores away where they are shared;
  // messages are the MPI's own.
  enable(1);
  if (group->is_possible && (operation_time != NULL || kind->what[0] != 0)) {
    if (group->comm == MPI_COMM_NULL) {
      sleep_until_told(cost_tag, group->first);
    } else {
      struct Cost cost = {.what = what, .bytes = bytes, .buffers = atoi(buffers), .wait = wait};
      MPI_Comm_rank(group->comm, &cost.own);
      count = take_samples(group->comm, kind, &cost, seconds, samples);
    }
    if (world_rank == group->first) {
      for (int r = 0; r < world_size; ++r) {
        if (r != world_rank) MPI_Send(NULL, 0, MPI_BYTE, r, cost_tag, MPI_COMM_WORLD);
      }
    } else {
      MPI_Recv(NULL, 0, MPI_BYTE, group->first, cost_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(&count, 1, MPI_INT, group->first, MPI_COMM_WORLD);
    MPI_Bcast(samples, most_series * most_cost_samples, MPI_DOUBLE, group->first, MPI_COMM_WORLD);
  }
  enable(0);
  if (world_rank != 0) return 1;
  printf("{\"cost\": \"%s\", \"bytes\": %d, \"series\": {", what, bytes);
  const char* separator = "";
  for (int s = 0; count > 0 && s < most_series; ++s) {
    if (kind->series[s] == NULL || samples[s][0] < 0) continue;
    printf("%s\"%s\": [", separator, kind->series[s]);
    for (int i = 0; i < count; ++i) printf("%s%.4g", i > 0 ? ", " : "", samples[s][i]);
    printf("]");
    separator = ", ";
  }
  printf("}}\n");
  fflush(stdout);
  return 1;
}

// Memory for the messages of all questions up to so many bytes.
static void make_cost_buffers(int largest) {
  const size_t room = (size_t)burst_bytes + 2 * (size_t)largest + 4096;
  sent = malloc(room);
  received = malloc(room);
  if (sent == NULL || received == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(sent, 1, room), memset(received, 0, room);
}
