// SPDX-License-Identifier: BSD-3-Clause
// Batches of calls: how they are timed, how long they are, and whether they give what the host MPI gives.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "servers.h"
#include "settle.h"
#include "start.h"

enum { lead_in = 2, warming_calls = 16, fewest_tries = 3, most_tries = 9, most_windows = 100 };
static const double most_slack_s = 10e-3;

static double* expected;
static int is_led_in;  // where several algorithms take turns

// Programs send what they have just computed. A buffer that never changes would stay in its readers' caches,
// and a copy straight out of it would cost next to nothing.
static void write_anew(const struct Operation* op, int bytes) {
  static int seed;
  ++seed;
  fill(input, (size_t)bytes * (size_t)(op->blocks_in ? 1 : most_blocks()), seed + rank);
  if (op->run == run_bcast && rank == 0) fill(output, (size_t)bytes, seed);
}

// The time of one call of a batch, of the longest rank (valid on all ranks); less than 0 where a rank came
// too late for the window.
static double time_batch(const struct Operation* op, int bytes, int batch, const char* server) {
  if (bytes >= large_bytes) write_anew(op, bytes);
  // What is around a batch is the same for all. It gives cores away where ranks share them: while some ranks
  // spin in a barrier before the batch, or in what follows it, others get no core for milliseconds. The call
  // before a batch is the same for all too. It decides and makes a schedule where another algorithm ran
  // before, and it leaves nothing of a network's bursts.
  const int is_new = select_server(server);
  enable(server != native);
  if (is_new || is_led_in) op->run(bytes);
  enable(1);
  if (start_of.is_cold) purge_caches();
  double start = begin_together(world_rank);
  enable(server != native);
  // Ranks that share cores leave the barrier one after the other, which takes as long as many calls. What
  // synchronises itself begins in step after a call or two; the others need the barrier.
  if (op->is_synchronising && bytes < large_bytes && !is_call_by_call() && !start_of.is_window) {
    for (int i = 0; i < lead_in; ++i) op->run(bytes);
  }
  const int is_late = start == 0;
  if (!start_of.is_window || is_late) start = now_s();
  double mine;
  if (start_of.skew_s > 0) {
    mine = time_skewed_call(op, bytes, start);
  } else {
    for (int i = 0; i < batch; ++i) op->run(bytes);
    mine = (now_s() - start) / batch;
  }
  enable(1);
  double told[2] = {mine, is_late}, longest[2];
  MPI_Allreduce(told, longest, 2, MPI_DOUBLE, MPI_MAX, everybody);
  if (longest[1] == 0) return longest[0];
  // All ranks see it, and give the next window more time.
  if (start_of.slack_s < most_slack_s) start_of.slack_s *= 2;
  return -1;
}

// The same with as many windows as it takes.
static double time_in_time(const struct Operation* op, int bytes, int batch, const char* server) {
  for (int i = 0; i < most_windows; ++i) {
    const double taken = time_batch(op, bytes, batch, server);
    if (taken >= 0) return taken;
  }
  if (world_rank == 0) {
    fprintf(stderr, "collectives: ranks come too late for every window; use --start barrier\n");
  }
  MPI_Abort(MPI_COMM_WORLD, 4);
  return -1;
}

static size_t output_bytes(const struct Operation* op, int bytes) {
  return op->blocks_out ? (size_t)bytes : (size_t)(bytes + bytes / 2 + 1) * (size_t)most_blocks();
}

// Once from the same data. Small whole numbers: sums are exact in any order.
static void run_once(const struct Operation* op, int bytes, const char* server) {
  fill(output, output_bytes(op, bytes), rank + 100);
  select_server(server);
  enable(server != native);
  op->run(bytes);
  enable(0);
}

// What the host MPI gives, for is_same().
static void expect(const struct Operation* op, int bytes) {
  fill(input, (size_t)bytes * (size_t)(op->blocks_in ? 1 : most_blocks()), rank);
  run_once(op, bytes, native);
  memcpy(expected, output, output_bytes(op, bytes));
}

// Does `server` give what the host MPI gives?
static int is_same(const struct Operation* op, int bytes, const char* server) {
  run_once(op, bytes, server);
  int same = memcmp(expected, output, output_bytes(op, bytes)) == 0, all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, everybody);
  return all;
}

// What is measured: in batches of so many calls, and the shortest time of a call so far. Where only the
// fastest is looked for, that of native and of the own choice counts too, and others need no good figure.
static struct {
  const struct Operation* op;
  int bytes, batch, is_for_best;
  double best_s, own_s;  // own: of the own choice, timed before all others
  double first_s;        // when that was
} asked;

// How long one batch is: long enough that clock and barrier do not count, short enough that many samples fit
// in the time. With more ranks than cores, 64 calls at least, where that is quick enough: for one-way
// operations leaving the barrier in front takes as long as many calls. Warms native and Unisono up. What is
// asked about one operation and size in a row is measured alike.
static void begin_asking(const struct Operation* op, int bytes) {
  const char* both[] = {native, own_choice};
  double longest = 0;
  if (op == asked.op && bytes == asked.bytes) return;
  asked.op = op, asked.bytes = bytes, asked.batch = 1, asked.best_s = no_limit_s;
  asked.own_s = 0, asked.first_s = now_s();
  settled.count = 0;
  for (int i = 0; i < 2; ++i) settle(op, bytes, both[i], no_limit_s);
  if (is_call_by_call()) return;
  for (int i = 0; i < 2; ++i) {
    time_in_time(op, bytes, 2, both[i]);
    const double once = time_in_time(op, bytes, 4, both[i]);
    if (once > longest) longest = once;
    if (both[i] == own_choice) asked.own_s = once;
    if (asked.is_for_best && once < asked.best_s) asked.best_s = once;
  }
  while (bytes < large_bytes && asked.batch < 4096 &&
         (longest * asked.batch < 100e-6 || (asked.batch < 64 && longest * asked.batch < 20e-3))) {
    asked.batch *= 2;
  }
}
