// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "base/core_list.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A number's digits, and nothing else. -1: there are none.
static long read_number(const char* at, char** end) {
  if (*at >= '0' && *at <= '9') return strtol(at, end, 10);
  *end = (char*)at;
  return -1;
}

long unisono_read_core_list(const char* list, void* cores) {
  cpu_set_t* const set = cores;
  CPU_ZERO(set);
  long highest = -1;
  char* end = NULL;
  for (const char* at = list;; at = end + 1) {
    const long first = read_number(at, &end);
    const long last = *end == '-' ? read_number(end + 1, &end) : first;
    if ((*end != ',' && *end != '\0') || first < 0 || last < first) return -1;
    for (long core = first; core <= last && core < CPU_SETSIZE; ++core) CPU_SET((int)core, set);
    if (last > highest) highest = last;
    if (*end == '\0') return highest;
  }
}

static int read_list(const char* list, cpu_set_t* set) {
  const long highest = unisono_read_core_list(list, set);
  return highest >= 0 && highest < CPU_SETSIZE;
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

void unisono_why_not_on_cores(const char* list, int error, char* text, unsigned long size) {
  char usable[256];
  unisono_usable_cores(usable, sizeof usable);
  const int is_none_there = error == EINVAL && usable[0] != '\0';
  snprintf(text, size, "an agent cannot run on cores %s of its node: %s%s%s", list,
           is_none_there ? "it has " : strerror(error), is_none_there ? usable : "",
           is_none_there ? " for this job" : "");
}
