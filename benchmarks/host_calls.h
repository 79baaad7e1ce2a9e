// SPDX-License-Identifier: BSD-3-Clause
// For benchmarks of single calls: calls by name, which may go by way of Unisono, and by the MPI library's own
// pointer take turns in batches. The figure is the median of the differences, with the quartiles.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../src/measure/host_library.h"

enum { batches = 301, calls_a_batch = 2000 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double nanoseconds_a_call(void (*call)(int), int by_name) {
  const double before = seconds();
  for (int i = 0; i < calls_a_batch; ++i) call(by_name);
  return 1e9 * (seconds() - before) / calls_a_batch;
}

static int ascending(const void* one, const void* other) {
  const double a = *(const double*)one;
  const double b = *(const double*)other;
  return (a > b) - (a < b);
}

// `call`: by the host's pointer (0) or by name (1).
static void measure(const char* label, void (*call)(int)) {
  static double host[batches];
  static double difference[batches];
  for (int i = 0; i < batches; ++i) {
    const int first = i % 2;
    const double one = nanoseconds_a_call(call, first);
    const double other = nanoseconds_a_call(call, 1 - first);
    host[i] = first == 0 ? one : other;
    difference[i] = first == 0 ? other - one : one - other;
  }
  qsort(host, batches, sizeof *host, ascending);
  qsort(difference, batches, sizeof *difference, ascending);
  printf("%-15s host %7.1f ns   added %6.1f ns   (quartiles %.1f to %.1f)\n", label, host[batches / 2],
         difference[batches / 2], difference[batches / 4], difference[3 * batches / 4]);
}
