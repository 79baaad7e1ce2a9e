// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "base/core_list.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_list(const char* list, cpu_set_t* set) {
  CPU_ZERO(set);
  char* end = NULL;
  for (const char* at = list; *at != '\0'; at = *end == ',' ? end + 1 : end) {
    const long first = strtol(at, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (end == at || (*end != ',' && *end != '\0') || first < 0 || last < first || last >= CPU_SETSIZE)
      return 0;
    for (long core = first; core <= last; ++core) CPU_SET((int)core, set);
  }
  return CPU_COUNT(set) != 0;
}

int unisono_is_core_list(const char* list) {
  cpu_set_t set;
  return read_list(list, &set);
}

int unisono_bind_to_cores(const char* list) {
  cpu_set_t set;
  if (!read_list(list, &set)) return EINVAL;
  return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

void unisono_usable_cores(char* list, unsigned long size) {
  cpu_set_t before, all, usable;
  if (size == 0) return;
  list[0] = '\0';
  // The system leaves out of a mask what is not there, or not for this process.
  memset(&all, 0xff, sizeof all);
  if (sched_getaffinity(0, sizeof before, &before) != 0 || sched_setaffinity(0, sizeof all, &all) != 0)
    return;
  const int error = sched_getaffinity(0, sizeof usable, &usable);
  sched_setaffinity(0, sizeof before, &before);
  unsigned long used = 0;
  for (int first = 0; error == 0 && first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &usable)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &usable)) ++last;
    char range[32];
    const int length = last == first
                           ? snprintf(range, sizeof range, "%s%d", used == 0 ? "" : ",", first)
                           : snprintf(range, sizeof range, "%s%d-%d", used == 0 ? "" : ",", first, last);
    if (used + (unsigned long)length >= size) return;
    memcpy(list + used, range, (unsigned long)length + 1);
    used += (unsigned long)length;
    first = last;
  }
}
