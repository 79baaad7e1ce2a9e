// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "base/core_list.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

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
