// SPDX-License-Identifier: BSD-3-Clause
// What programs tell Unisono, and ask it: include/unisono/unisono.h, and MPI_Pcontrol.
#pragma once

#include <cstddef>

namespace unisono::adapter {

// As in include/unisono/unisono.h.
int set_enabled(int is_enabled);
int is_active();
int set_algorithm(const char* text);
int decision(const char* operation, long long bytes, char* text, std::size_t text_bytes);
int decision_on(const void* comm, const char* operation, long long bytes, char* text, std::size_t text_bytes);
int distance(int rank, int other);
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

}  // namespace unisono::adapter
