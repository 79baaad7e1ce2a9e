// SPDX-License-Identifier: BSD-3-Clause
// When there are enough samples (A11): the width of the median's interval says it.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { fewest_for_interval = 10 };

static int by_value(const void* left, const void* right) {
  const double l = *(const double*)left, r = *(const double*)right;
  return l < r ? -1 : l > r;
}

// Half the 95 % interval of the median of `count` samples, as a part of the median: by order statistics,
// which suppose nothing of how the samples are distributed. 1 where there are too few for an interval. `room`
// holds as many numbers as `samples`.
static double half_interval(const double* samples, int count, double* room) {
  const double apart = 1.96 * sqrt((double)count);
  const int low = (int)floor((count - apart) / 2) - 1, high = (int)ceil((count + apart) / 2);
  if (low < 0 || high >= count) return 1;
  memcpy(room, samples, (size_t)count * sizeof *samples);
  qsort(room, (size_t)count, sizeof *room, by_value);
  const double middle = room[count / 2];
  return middle > 0 ? (room[high] - room[low]) / (2 * middle) : 1;
}

// Are the medians of `series` rows of `count` samples, `stride` apart, as precise as was asked for? Looked at
// ever less often as the samples become more; a count of 1 begins anew.
static int is_precise(const double* samples, size_t stride, int series, int count, double precision) {
  static int next;
  if (count == 1) next = fewest_for_interval;
  if (precision <= 0 || count < next) return 0;
  next += next / 4;
  double* room = malloc((size_t)count * sizeof *room);
  int is_enough = room != NULL;
  for (int i = 0; i < series && is_enough; ++i) {
    is_enough = half_interval(samples + (size_t)i * stride, count, room) <= precision;
  }
  free(room);
  return is_enough;
}
