// SPDX-License-Identifier: BSD-3-Clause
// Calls of long messages that come before all others and do not count (A11, section 2.6). Slots, rings and
// the MPI's own buffers go through memory that was never touched; whoever came first would pay for what
// others use as well.
#pragma once

#include <stdint.h>

enum { most_settling_calls = 300, enough_settling_calls = 8 };
static const double most_settling_s = 5e-3, no_limit_s = 1e30;

// What has settled for the question that is asked (begin_asking): hashes of what serves, which may be
// forgotten itself.
static struct {
  uint64_t servers[max_candidates];
  int count;
} settled;

static int is_settled(const char* server) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char* at = server; *at != 0; ++at) hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
  for (int i = 0; i < settled.count; ++i) {
    if (settled.servers[i] == hash) return 1;
  }
  if (settled.count < max_candidates) settled.servers[settled.count++] = hash;
  return 0;
}

// How many more calls to make after `made` calls, which took `taken_s`; 0: they are enough. There are at most
// as many again, since the first calls say little of how long the next ones take.
static int next_settling_calls(int made, double taken_s) {
  if (made == 0) return 1;
  double next = (most_settling_s - taken_s) / (taken_s / made);
  if (next > made) next = made;
  if (next > most_settling_calls - made) next = most_settling_calls - made;
  return next < 1 ? 0 : (int)next;
}

// Calls what serves until it has settled. It stops early where a call takes longer than `most_s`, as soon as
// enough calls have gone through the memory of what serves. Done once for each question, all ranks equally
// often.
static void settle(const struct Operation* op, int bytes, const char* server, double most_s) {
  if (bytes < large_bytes || is_settled(server)) return;
  double taken_s = 0;
  select_server(server);
  for (int made = 0, next; (next = next_settling_calls(made, taken_s)) > 0; made += next) {
    MPI_Barrier(everybody);
    enable(server != native);
    const double start = now_s();
    for (int i = 0; i < next; ++i) op->run(bytes);
    const double mine = now_s() - start;
    double slowest;
    enable(1);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, everybody);
    taken_s += slowest;
    if (made + next >= enough_settling_calls && slowest > most_s * next) return;
  }
}
