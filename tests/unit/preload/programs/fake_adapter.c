// SPDX-License-Identifier: BSD-3-Clause
// An adapter whose wrappers say that they were called.
#include <stdio.h>

#include "preload/adapter_library.h"

#define WRAPPER(name)              \
  static long wrap_##name(void) {  \
    printf("adapter " #name "\n"); \
    return unisono_slot_##name;    \
  }
UNISONO_NAMES(WRAPPER)

static int enabled = 1;
static int set_enabled(int is_enabled) {
  const int before = enabled;
  enabled = is_enabled;
  return before;
}
static int is_active(void) {
  return enabled;
}
static int set_algorithm(const char* text) {
  printf("algorithm %s\n", text);
  return 0;
}
static int decision(const char* operation, long long bytes, char* text, size_t text_bytes) {
  return snprintf(text, text_bytes, "%s of %lld", operation, bytes);
}

#define ENTRY(name) (UnisonoFunction) wrap_##name,
static const struct UnisonoAdapter adapter = {FAKE_VERSION, unisono_slot_count, {UNISONO_NAMES(ENTRY)},
                                              set_enabled,  is_active,          set_algorithm,
                                              decision};

__attribute__((visibility("default"))) const struct UnisonoAdapter* unisono_open_adapter(
    void* mpi, char* problem, size_t problem_bytes) {
  (void)problem;
  (void)problem_bytes;
  return mpi == NULL ? NULL : &adapter;
}
