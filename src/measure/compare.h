// SPDX-License-Identifier: BSD-3-Clause
// Series that alternate: native, Unisono's choice and the best of the candidates.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "batches.h"
#include "looks.h"

enum { fewest_samples = 5, max_samples = 10000, max_finalists = 8 };

struct Settings {
  int samples, finalists, is_verified;  // at most so many of both
  double seconds, most_trying_s;
  struct Purpose purpose;
};

static struct Tried tried[max_candidates];

// Native, Unisono's choice and the first of those tried in turn; where it is asked which is the fastest, what
// is clearly slower only until that is known.
static int compare(const struct Operation* op, int bytes, int tried_count, const struct Settings* settings) {
  static double times[2 + max_finalists][max_samples];
  const char* servers[2 + max_finalists] = {native, own_choice};
  if (settings->is_verified) expect(op, bytes);
  int same = settings->is_verified ? is_same(op, bytes, own_choice) : 1;
  int server_count = 2;
  for (int i = 0; i < tried_count && i < settings->finalists; ++i) {
    servers[server_count++] = tried[i].name;
    if (settings->is_verified) same &= is_same(op, bytes, tried[i].name);
  }
  for (int i = 0; i < server_count; ++i) settle(op, bytes, servers[i], no_limit_s);
  is_led_in = server_count > 2;
  struct Turns turns = {.samples = *times, .stride = max_samples, .series = server_count};
  int order[2 + max_finalists], counts[2 + max_finalists];
  for (int i = 0; i < server_count; ++i) order[i] = i;
  unsigned draws = 1;  // the same on all ranks
  int count = 0;
  const double start = now_s();
  // Where looks have found something clearly faster, the own choice is in doubt since then.
  const double begun = asked.own_s > much_slower * asked.best_s ? asked.first_s : start;
  for (int go = 1; go && count < settings->samples; ++count) {
    // None is always behind the same other one, with its caches and what it has left of the network's bursts.
    shuffle(order, server_count, &draws);
    for (int i = 0; i < server_count; ++i) {
      if (turns.is_behind[order[i]]) continue;
      times[order[i]][count] = time_in_time(op, bytes, asked.batch, servers[order[i]]);
      counts[order[i]] = count + 1;
    }
    turns.seconds = now_s() - begun;
    go = now_s() - start < settings->seconds || count + 1 < fewest_samples;
    if (world_rank == 0 && has_enough(&turns, count + 1, settings->purpose)) go = 0;
    MPI_Bcast(&go, 1, MPI_INT, 0, everybody);
    MPI_Bcast(turns.is_behind, server_count, MPI_INT, 0, everybody);
  }
  is_led_in = 0;
  char decided[256] = "";
  select_server(own_choice);
  decide(op->name, bytes, decided, sizeof decided);
  if (world_rank == 0) {
    printf("{\"operation\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"batch\": %d, \"is_same\": %s", op->name,
           bytes, size, asked.batch, same ? "true" : "false");
    print_samples("native_s", times[of_native], counts[of_native]);
    print_samples("unisono_s", times[of_own_choice], counts[of_own_choice]);
    printf(", \"unisono\": \"%s\", \"candidates\": [", decided);
    for (int i = 0; i < tried_count; ++i) {
      printf("%s{\"name\": \"%s\", \"tried_s\": %.4g", i ? ", " : "", strchr(tried[i].name, ':') + 1,
             tried[i].seconds);
      if (i < settings->finalists) print_samples("samples_s", times[2 + i], counts[2 + i]);
      printf("}");
    }
    printf("]}\n");
    fflush(stdout);
  }
  return same;
}

static int measure(const struct Operation* op, int bytes, const struct Settings* settings) {
  if (start_of.is_window) synchronise_clocks(world_rank, world_size);
  begin_asking(op, bytes);
  const int tried_count = try_candidates(op, bytes, settings->most_trying_s, 0, tried);
  return compare(op, bytes, tried_count, settings);
}
