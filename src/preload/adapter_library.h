// SPDX-License-Identifier: BSD-3-Clause
// What the preloaded library and the adapter of an ABI family say to each other. The adapter is a library of
// its own (libunisono-FAMILY.so, made from src/adapter), opened at the first MPI call of the process.
#pragma once

#include <stddef.h>

#include "preload/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*UnisonoFunction)(void);

struct UnisonoAdapter {
  // Version and number of slots of the build: the preloaded library takes only an adapter of its own build.
  const char* version;
  int slot_count;
  // One typed wrapper per name. Null: the MPI has no such function, and Unisono does without it.
  UnisonoFunction functions[unisono_slot_count];
  // As in include/unisono/unisono.h.
  int (*set_enabled)(int is_enabled);
  int (*is_active)(void);
  int (*set_algorithm)(const char* text);
  int (*decision)(const char* operation, long long bytes, char* text, size_t text_bytes);
  int (*decision_on)(const void* comm, const char* operation, long long bytes, char* text, size_t text_bytes);
  int (*distance)(int rank, int other);
  double (*operation_time)(const void* comm, const char* what, long long bytes, int buffers, const char* wait,
                           int repetitions);
  void (*region_begin)(const char* name);
  void (*region_end)(void);
  // Both are set to 1 whenever the process loads a library. May be null.
  unsigned char* has_loaded;
  unsigned char* has_loaded_too;
};

// The adapter's only export. `mpi` is dlopen's handle of the MPI library that the process holds. Returns a
// table that lives as long as the process, or a null pointer and in `problem` (room for problem_bytes) what
// is wrong. May be called by several threads at once.
typedef const struct UnisonoAdapter* UnisonoOpenAdapter(void* mpi, char* problem, size_t problem_bytes);
#define UNISONO_OPEN_ADAPTER "unisono_open_adapter"

#ifdef __cplusplus
}
#endif
