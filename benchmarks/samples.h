// SPDX-License-Identifier: BSD-3-Clause
// Samples of several series (A11): in which order they are taken, when there are enough (the width of the
// median's interval says it), how they are printed.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { fewest_for_interval = 10 };

static int by_value(const void* left, const void* right) {
  const double l = *(const double*)left, r = *(const double*)right;
  return l < r ? -1 : l > r;
}

// The median of samples and its 95 % interval: by order statistics, which suppose nothing of how the samples
// are distributed.
struct Median {
  double value, low, high;
};

// Of `count` samples, at least fewest_for_interval; `room` holds as many numbers.
static struct Median median_of(const double* samples, int count, double* room) {
  const double apart = 1.96 * sqrt((double)count);
  const int low = (int)floor((count - apart) / 2) - 1, high = (int)ceil((count + apart) / 2);
  memcpy(room, samples, (size_t)count * sizeof *room);
  qsort(room, (size_t)count, sizeof *room, by_value);
  return (struct Median){room[count / 2], room[low > 0 ? low : 0], room[high < count ? high : count - 1]};
}

static int is_narrow(struct Median median, double precision) {
  return median.high - median.low <= 2 * precision * median.value;
}

// What samples are taken for: to know each median to `precision` (a part of it; 0: never enough), or, where
// `is_for_best`, to know which is the least: what is above that with its whole interval need not be known
// better.
struct Purpose {
  double precision;
  int is_for_best;
};

static int is_enough(const struct Median* medians, int series, struct Purpose purpose) {
  const struct Median* best = medians;
  for (int i = 1; i < series; ++i) {
    if (medians[i].value < best->value) best = &medians[i];
  }
  for (int i = 0; i < series; ++i) {
    const int is_behind = purpose.is_for_best && medians[i].low > best->high;
    const int is_alone = purpose.is_for_best && &medians[i] == best;
    if (is_behind || is_alone) continue;
    if (!is_narrow(medians[i], purpose.precision) || !is_narrow(*best, purpose.precision)) return 0;
  }
  return 1;
}

// Are `count` samples enough, of each of `series` rows, `stride` apart? Looked at ever less often as they
// become more; a count of 1 begins anew.
static int has_enough(const double* samples, size_t stride, int series, int count, struct Purpose purpose) {
  static int next;
  if (count == 1) next = fewest_for_interval;
  if (purpose.precision <= 0 || count < next) return 0;
  next += next / 4;
  double* room = malloc((size_t)count * sizeof *room);
  struct Median* medians = malloc((size_t)series * sizeof *medians);
  int has = room != NULL && medians != NULL;
  for (int i = 0; has && i < series; ++i) {
    medians[i] = median_of(samples + (size_t)i * stride, count, room);
  }
  has = has && is_enough(medians, series, purpose);
  free(room);
  free(medians);
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
