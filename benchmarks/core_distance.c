// SPDX-License-Identifier: BSD-3-Clause
// How far two cores are from each other: prints the seconds that a line of memory takes from one to the
// other.
//     core_distance
// Two threads, each on a core of its own, write in turn.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { turns = 20000 };
static _Alignas(128) atomic_int turn;
static _Alignas(128) atomic_int here;
static int cores[2];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Waits on its core until both are there, giving way to others, since they may all be started on one.
static void arrive(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  atomic_fetch_add(&here, 1);
  while (atomic_load(&here) < 2) sched_yield();
}

static void* other(void* unused) {
  arrive(cores[1]);
  for (int i = 1; i < 2 * turns; i += 2) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != i) continue;
    atomic_store_explicit(&turn, i + 1, memory_order_release);
  }
  return unused;
}

int main(void) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int found = 0;
  for (int core = 0; core < CPU_SETSIZE && found < 2; ++core) {
    if (CPU_ISSET(core, &set)) cores[found++] = core;
  }
  if (found < 2) {
    fprintf(stderr, "core_distance: this process may use one core only\n");
    return 1;
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, other, NULL) != 0) return 1;
  arrive(cores[0]);
  const double begin = now();
  for (int i = 0; i < 2 * turns; i += 2) {
    atomic_store_explicit(&turn, i + 1, memory_order_release);
    while (atomic_load_explicit(&turn, memory_order_acquire) != i + 2) continue;
  }
  printf("%.4g\n", (now() - begin) / (2 * turns));
  pthread_join(thread, NULL);
  return 0;
}
