// SPDX-License-Identifier: BSD-3-Clause
// From the host's MPI_Init to its MPI_Finalize: whether Unisono takes this process's collectives at the
// moment.
#pragma once

#include <atomic>

#include "host/mpi/mpi_host.h"

namespace unisono::host::mpi {

// Calls that reach us while this thread is inside one of ours are the host's own (it calls MPI_ names itself)
// or the program's from inside an error handler: the host serves them. The adapter is opened late, and the
// model must cost no call.
extern __thread int nesting __attribute__((tls_model("initial-exec")));

class Nested {
 public:
  Nested() { ++nesting; }
  ~Nested() { --nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

// Started, not finished, and enabled.
extern std::atomic<bool> is_open;

inline bool is_taking() {
  return is_open.load(std::memory_order_relaxed) && nesting == 0;
}

// The wrappers of MPI_Init, MPI_Init_thread and MPI_Finalize.
int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();

// Lets the host look for messages; between its start and its end.
void make_host_progress();

// As in include/unisono/unisono.h.
int set_enabled(int is_enabled);
int is_active();
int set_algorithm(const char* text);
int decision(const char* operation, long long bytes, char* text, std::size_t text_bytes);
int decision_on(const void* comm, const char* operation, long long bytes, char* text, std::size_t text_bytes);
double operation_time(const void* comm, const char* what, long long bytes, int buffers, const char* wait,
                      int repetitions);
void region_begin(const char* name);
void region_end();
// The wrapper of MPI_Pcontrol: some levels are regions.
int pcontrol(int level, ...);

}  // namespace unisono::host::mpi
