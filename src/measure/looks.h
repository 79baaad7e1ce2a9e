// SPDX-License-Identifier: BSD-3-Clause
// Quick looks at candidates: which of them are worth to be measured with care.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Tried {
  const char* name;  // with its operation
  double seconds;    // of a call, as look_at() has it
};

static int by_seconds(const void* left, const void* right) {
  const double l = ((const struct Tried*)left)->seconds, r = ((const struct Tried*)right)->seconds;
  return l < r ? -1 : l > r;
}

// Does it say how to cut a message, and this one is shorter than that? Then there is another one like it.
static int cuts_nothing(int bytes, const char* candidate) {
  static const char* const cutting[] = {"segment=", "piece="};
  for (int i = 0; i < 2; ++i) {
    const char* at = strstr(candidate, cutting[i]);
    if (at != NULL && atoll(at + strlen(cutting[i])) >= bytes) return 1;
  }
  return 0;
}

// Is it a candidate for the operation, and one that may run here?
static int may_run(const struct Operation* op, int bytes, const char* candidate) {
  const size_t length = strlen(op->name);
  if (strncmp(candidate, op->name, length) != 0 || candidate[length] != ':') return 0;
  const char* name = candidate + length + 1;
  const size_t name_length = strcspn(name, "(");
  char decided[256] = "";
  select_server(candidate);
  if (decide(op->name, bytes, decided, sizeof decided) < 0) return 0;
  return strncmp(decided, name, name_length) == 0 &&
         (decided[name_length] == 0 || decided[name_length] == '(');
}

// What a candidate takes, as the median of a few batches. Its first calls meet memory that was never touched
// (slots that are used in turn), and do not count. Of long messages there are more of these calls (settle.h).
// One call is enough where it takes three times as long as the best so far. A call takes a little longer than
// it should, since ranks begin it apart and the clock is read; that little is no reason to stop. Where only
// the fastest is looked for, a candidate is cut short in three more cases. One batch is enough where it takes
// half as long again. Few calls are enough where it takes twice as long while it settles. The first call is
// enough where it is out of all proportion. Where `best` is no_limit_s, nothing is cut short.
static const double apart_s = 20e-6, warm_s = 2e-3, enough_s = 200e-6, tie = 0.02;
static double look_at(const struct Operation* op, int bytes, int batch, const char* candidate, double best) {
  const int is_long = bytes >= large_bytes;
  const int at_once = is_long ? 1 : 4;  // barriers around each would take longer than the calls
  double times[most_tries], total = 0;
  for (int i = 0; i < (is_long ? 1 : warming_calls) && total < warm_s; i += at_once) {
    const double warming = time_in_time(op, bytes, at_once, candidate);
    if (asked.is_for_best && warming > 6 * best + warm_s) return warming;
    total += at_once * warming;
  }
  settle(op, bytes, candidate, asked.is_for_best ? 2 * best : 3 * best);
  const double once = time_in_time(op, bytes, 1, candidate);
  if (once > 3 * best + apart_s) return once;
  int made = 0;
  for (total = 0; made < fewest_tries || (made < most_tries && total < enough_s); ++made) {
    times[made] = time_in_time(op, bytes, batch, candidate);
    total += times[made] * batch;
    if (asked.is_for_best && times[0] > 1.5 * best) return times[0];
  }
  qsort(times, (size_t)made, sizeof *times, by_value);
  return times[made / 2];
}

// Looks at each candidate that may run; sorts them, the fastest first. `is_alike`: at all with the same care,
// the slowest too, as a search does that supposes nothing.
static int try_candidates(const struct Operation* op, int bytes, double most_s, int is_alike,
                          struct Tried* tried) {
  int count = 0;
  const double start = now_s();
  for (int c = 0; c < candidate_count; ++c) {
    int is_over = now_s() - start > most_s;
    MPI_Bcast(&is_over, 1, MPI_INT, 0, everybody);
    if (is_over) break;
    if (cuts_nothing(bytes, candidates[c]) || !may_run(op, bytes, candidates[c])) continue;
    const double best_s = is_alike ? no_limit_s : asked.best_s;
    tried[count] = (struct Tried){candidates[c], look_at(op, bytes, asked.batch, candidates[c], best_s)};
    if (tried[count].seconds < asked.best_s) asked.best_s = tried[count].seconds;
    ++count;
  }
  qsort(tried, (size_t)count, sizeof *tried, by_seconds);
  return count;
}

// Puts those of the candidates in front that may run; how many. Nothing is called.
static int keep_able(const struct Operation* op, int bytes) {
  int count = 0;
  for (int c = 0; c < candidate_count; ++c) {
    if (may_run(op, bytes, candidates[c])) candidates[count++] = candidates[c];
  }
  return count;
}

static void print_looks(const struct Operation* op, int bytes, int count, const struct Tried* tried) {
  if (world_rank != 0) return;
  printf("{\"operation\": \"%s\", \"bytes\": %d, \"batch\": %d, \"looked\": [", op->name, bytes, asked.batch);
  for (int i = 0; i < count; ++i) {
    printf("%s{\"name\": \"%s\", \"tried_s\": %.4g}", i ? ", " : "", strchr(tried[i].name, ':') + 1,
           tried[i].seconds);
  }
  printf("]}\n");
  fflush(stdout);
}
