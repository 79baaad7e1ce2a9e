// SPDX-License-Identifier: BSD-3-Clause
// Preload that lets MPICH (UCX) share cores. MPICH's waits never yield, so with more ranks than cores each
// hop costs a tick of the scheduler. All of its waits drive UCX; a worker that has found nothing to do a few
// times in a row gives its core away.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

enum { idle_calls_before_yield = 32 };

typedef unsigned (*progress_function)(void*);

static progress_function find_next(void) {
  progress_function found = (progress_function)dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (found == NULL) {
    // UCX came with an MPI that was loaded with RTLD_LOCAL.
    void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) found = (progress_function)dlsym(library, "ucp_worker_progress");
  }
  return found;
}

unsigned ucp_worker_progress(void* worker) {
  static progress_function next;
  static __thread int idle_calls;
  if (next == NULL) next = find_next();
  if (next == NULL) return 0;
  const unsigned events = next(worker);
  if (events != 0) {
    idle_calls = 0;
  } else if (++idle_calls >= idle_calls_before_yield) {
    idle_calls = 0;
    sched_yield();
  }
  return events;
}
