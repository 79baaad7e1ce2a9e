// SPDX-License-Identifier: BSD-3-Clause
// The functions of include/unisono/unisono.h.
#include <stdatomic.h>
#include <stddef.h>

#include "preload/resolve.h"
#include "unisono/unisono.h"

// What the program asked for before there was an adapter.
static _Atomic int is_enabled_early = 1;

int unisono_set_enabled(int is_enabled) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  if (adapter != NULL) return adapter->set_enabled(is_enabled != 0);
  return atomic_exchange(&is_enabled_early, is_enabled != 0);
}

void unisono_pass_on_setting(const struct UnisonoAdapter* adapter) {
  if (atomic_load(&is_enabled_early) == 0) adapter->set_enabled(0);
}

int unisono_is_active(void) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  return adapter != NULL && adapter->is_active();
}

int unisono_set_algorithm(const char* text) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  return adapter == NULL || text == NULL ? -1 : adapter->set_algorithm(text);
}

int unisono_decision(const char* operation, long long bytes, char* text, size_t text_bytes) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  return adapter == NULL || operation == NULL ? -1 : adapter->decision(operation, bytes, text, text_bytes);
}

int unisono_decision_on(const void* comm, const char* operation, long long bytes, char* text,
                        size_t text_bytes) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  if (adapter == NULL || comm == NULL || operation == NULL) return -1;
  return adapter->decision_on(comm, operation, bytes, text, text_bytes);
}

int unisono_distance(int rank, int other) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  return adapter == NULL ? -1 : adapter->distance(rank, other);
}

double unisono_operation_time(const void* comm, const char* what, long long bytes, int buffers,
                              const char* wait, int repetitions) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  if (adapter == NULL || comm == NULL || what == NULL || wait == NULL) return -1;
  return adapter->operation_time(comm, what, bytes, buffers, wait, repetitions);
}

void unisono_region_begin(const char* name) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  if (adapter != NULL && name != NULL) adapter->region_begin(name);
}

void unisono_region_end(void) {
  const struct UnisonoAdapter* adapter = unisono_open_adapter_or_null();
  if (adapter != NULL) adapter->region_end();
}

const char* unisono_version(void) {
  return UNISONO_VERSION;
}
