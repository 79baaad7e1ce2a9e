// SPDX-License-Identifier: BSD-3-Clause
// What the benchmark's figures are compared with, measured on this machine:
//     machine    prints {"round_trip_s": ..., "switch_s": ...}
// `round_trip_s`: two processes on two cores answer each other's cache line, there and back; the median of
// batches. `switch_s`: processes on one core hand it on with sched_yield; the time of one switch.
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { batches = 201, trips = 2000, yielders = 4, yields = 4000 };

struct Shared {
  _Alignas(256) atomic_uint ping;
  _Alignas(256) atomic_uint pong;
  _Alignas(256) atomic_uint started;
  _Alignas(256) double switch_s;
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int core_number(int wanted) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask) && seen++ == wanted) return core;
  }
  return -1;
}

static void stay_on(int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double round_trip_s(struct Shared* shared, int first, int second) {
  const pid_t child = fork();
  if (child == 0) {
    stay_on(second);
    for (unsigned i = 1; i <= (unsigned)batches * trips; ++i) {
      while (atomic_load_explicit(&shared->ping, memory_order_acquire) != i) continue;
      atomic_store_explicit(&shared->pong, i, memory_order_release);
    }
    _exit(0);
  }
  stay_on(first);
  static double samples[batches];
  unsigned number = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const double start = now_s();
    for (int i = 0; i < trips; ++i) {
      atomic_store_explicit(&shared->ping, ++number, memory_order_release);
      while (atomic_load_explicit(&shared->pong, memory_order_acquire) != number) continue;
    }
    samples[batch] = (now_s() - start) / trips;
  }
  waitpid(child, NULL, 0);
  qsort(samples, batches, sizeof *samples, by_value);
  return samples[batches / 2];
}

static double switch_s(struct Shared* shared, int core) {
  for (int i = 0; i < yielders; ++i) {
    if (fork() != 0) continue;
    stay_on(core);
    atomic_fetch_add(&shared->started, 1);
    while (atomic_load(&shared->started) < yielders) sched_yield();
    const double start = now_s();
    for (int n = 0; n < yields; ++n) sched_yield();
    // The others run in between: each of its own switches stands for one of each.
    if (i == 0) shared->switch_s = (now_s() - start) / yields / yielders;
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  return shared->switch_s;
}

int main(void) {
  struct Shared* shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return perror("mmap"), 1;
  const int first = core_number(0), second = core_number(1);
  const double one_switch = switch_s(shared, first);
  if (second < 0) {
    printf("{\"round_trip_s\": null, \"switch_s\": %.4g}\n", one_switch);
  } else {
    printf("{\"round_trip_s\": %.4g, \"switch_s\": %.4g}\n", round_trip_s(shared, first, second), one_switch);
  }
  return 0;
}
