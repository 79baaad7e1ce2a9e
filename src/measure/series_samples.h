// SPDX-License-Identifier: BSD-3-Clause
// Samples of several series (A11): in which order they are taken, when there are enough (the width of the
// median's interval says it), how they are printed.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { fewest_for_interval = 10, fewest_for_decision = 3 };
// With fewer rounds than these, a series is left behind only where it is that much slower in each of them.
// Unisono's own choice is not left behind so early, nor before it was timed for `settled_s`. What disturbs
// the machine for a while must not cover all that speaks against it.
enum { few_rounds = 5 };
static const double much_slower = 1.25, settled_s = 50e-3;

static int by_value(const void* left, const void* right) {
  const double l = *(const double*)left, r = *(const double*)right;
  return l < r ? -1 : l > r;
}

// The median of samples and its 95 % interval: by order statistics, which suppose nothing of how the samples
// are distributed.
struct Median {
  double value, low, high;
};

// Of `count` samples, below fewest_for_interval from the least to the most; `room` holds as many numbers.
static struct Median median_of(const double* samples, int count, double* room) {
  const double apart = 1.96 * sqrt((double)count);
  const int low = (int)floor((count - apart) / 2) - 1, high = (int)ceil((count + apart) / 2);
  memcpy(room, samples, (size_t)count * sizeof *room);
  qsort(room, (size_t)count, sizeof *room, by_value);
  return (struct Median){room[count / 2], room[low > 0 ? low : 0], room[high < count ? high : count - 1]};
}

// What series take turns for. One purpose is to know each median to `precision` (a part of it; 0: never
// enough). Where `is_for_best`, it is to know which is the least, as far as the difference is more than
// `precision`.
struct Purpose {
  double precision;
  int is_for_best;
};

enum { most_in_turns = 10, of_native = 0, of_own_choice = 1 };

// Series that take turns: the i-th sample of each was taken in round i. What is left behind takes no further
// part, and keeps the samples that it has.
struct Turns {
  const double* samples;
  size_t stride;  // from one series to the next
  int series;
  int is_behind[most_in_turns];
  int next;        // looked at when there are so many samples: ever less often as they become more
  double seconds;  // since the own choice was first timed beside others
};

static const double* series_at(const struct Turns* turns, int i) {
  return turns->samples + (size_t)i * turns->stride;
}

// The least median of those that still take part.
static int leader(const struct Turns* turns, int count, double* room) {
  int best = -1;
  double least = 0;
  for (int i = 0; i < turns->series; ++i) {
    if (turns->is_behind[i]) continue;
    const double value = median_of(series_at(turns, i), count, room).value;
    if (best < 0 || value < least) best = i, least = value;
  }
  return best;
}

// How many times as long a series takes as the leader, in the rounds that both took part in: what slows the
// machine for a while slows both.
static struct Median over_leader(const struct Turns* turns, int i, int best, int count, double* room) {
  double* ratios = room + count;
  for (int k = 0; k < count; ++k) ratios[k] = series_at(turns, i)[k] / series_at(turns, best)[k];
  return median_of(ratios, count, room);
}

// Leaves behind what takes longer than the leader beyond doubt, and says whether it is known which to take.
// Two things must hold for that. No series may still be faster than the leader by more than `tie`. Unisono's
// own choice, which stays where it is on a level with the leader, must be on a level or behind.
static int is_decided(struct Turns* turns, int count, double tie, double* room) {
  const int best = leader(turns, count, room);
  int open = 0;
  for (int i = 0; i < turns->series; ++i) {
    if (turns->is_behind[i] || i == best) continue;
    const struct Median ratio = over_leader(turns, i, best, count, room);
    turns->is_behind[i] = ratio.low > (count < few_rounds ? much_slower : 1);
    if (i == of_own_choice && (count < few_rounds || turns->seconds < settled_s)) turns->is_behind[i] = 0;
    if (turns->is_behind[i]) continue;
    open += count < few_rounds || ratio.low < 1 - tie || (i == of_own_choice && ratio.high > 1 + tie);
  }
  return open == 0;
}

static int is_narrow(struct Median median, double precision) {
  return median.high - median.low <= 2 * precision * median.value;
}

static int are_all_narrow(const struct Turns* turns, int count, double precision, double* room) {
  for (int i = 0; i < turns->series; ++i) {
    if (!is_narrow(median_of(series_at(turns, i), count, room), precision)) return 0;
  }
  return 1;
}

// Is it enough after `count` rounds? To be called after each.
static int has_enough(struct Turns* turns, int count, struct Purpose purpose) {
  const int fewest = purpose.is_for_best ? fewest_for_decision : fewest_for_interval;
  if (turns->next < fewest) turns->next = fewest;
  if (purpose.precision <= 0 || count < turns->next) return 0;
  turns->next += 1 + turns->next / 5;
  double* room = malloc(2 * (size_t)count * sizeof *room);
  int has = 0;
  if (room != NULL && purpose.is_for_best) has = is_decided(turns, count, purpose.precision, room);
  if (room != NULL && !purpose.is_for_best) has = are_all_narrow(turns, count, purpose.precision, room);
  free(room);
  return has;
}

// Draws the order anew.
static void shuffle(int* values, int count, unsigned* draws) {
  for (int i = count - 1; i > 0; --i) {
    *draws = *draws * 1664525u + 1013904223u;
    const int k = (int)((*draws >> 8) % (unsigned)(i + 1));
    const int value = values[i];
    values[i] = values[k];
    values[k] = value;
  }
}

static void print_samples(const char* key, const double* samples, int count) {
  printf(", \"%s\": [", key);
  for (int i = 0; i < count; ++i) printf("%s%.4g", i ? ", " : "", samples[i]);
  printf("]");
}
