// SPDX-License-Identifier: BSD-3-Clause
// From the host's MPI_Init to its MPI_Finalize: whether Unisono takes this process's collectives at the
// moment.
#pragma once

#include <atomic>

#include "host/mpi/mpi_host.h"

namespace unisono::host::mpi {

// Calls that reach us while this thread does work of ours are the host's own (it calls MPI_ names itself):
// the host serves them. What the host does for the program is not among it: error handlers run there, whose
// calls are the program's like any other. The adapter is opened late, and the model must cost no call.
extern __thread int nesting __attribute__((tls_model("initial-exec")));

class Nested {
 public:
  Nested() { ++nesting; }
  ~Nested() { --nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

// In between: functions of the program are called. Where one leaves by longjmp all work of ours is left.
class Outside {
 public:
  Outside() : before_(nesting) { nesting = 0; }
  ~Outside() { nesting = before_; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  int before_;
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
// Further arguments are the host's, or a tool's below: their number and types are not known here, so all
// places in which calling conventions pass some are handed on.
int pcontrol(int level, void* i1, void* i2, void* i3, void* i4, void* i5, double f0, double f1, double f2,
             double f3, double f4, double f5, double f6, double f7, void* s0, void* s1, void* s2, void* s3,
             void* s4, void* s5, void* s6, void* s7);

}  // namespace unisono::host::mpi
