// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/control.h"

#include <cstdio>
#include <string>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/life.h"
#include "adapter/profile/call_profile.h"
#include "runtime/runtime.h"
#include "unisono/unisono.h"

namespace unisono::adapter {

int set_enabled(int is_enabled) {
  return enable(is_enabled != 0) ? 1 : 0;
}

int is_active() {
  return is_open.load() ? 1 : 0;
}

int set_algorithm(const char* text) {
  return runtime::is_running() && runtime::set_algorithm(text) ? 0 : -1;
}

int decision(const char* operation, long long bytes, char* text, std::size_t text_bytes) {
  const std::string found = bytes < 0 ? std::string() : runtime::decision(operation, bytes);
  if (found.empty()) return -1;
  return std::snprintf(text, text_bytes, "%s", found.c_str());
}

int decision_on(const void* comm, const char* operation, long long bytes, char* text,
                std::size_t text_bytes) {
  const host::Comm asked = widen<host::Comm>(*static_cast<const MPI_Comm*>(comm));
  const std::string found = bytes < 0 ? std::string() : runtime::decision(operation, bytes, asked);
  if (found.empty()) return -1;
  return std::snprintf(text, text_bytes, "%s", found.c_str());
}

int distance(int rank, int other) {
  return is_alive() && runtime::is_running() ? runtime::distance(rank, other) : -1;
}

double operation_time(const void* comm, const char* what, long long bytes, int buffers, const char* wait,
                      int repetitions) {
  if (!is_alive() || !runtime::is_running()) return -1;
  const Nested nested;
  return runtime::operation_time(widen<host::Comm>(*static_cast<const MPI_Comm*>(comm)), what, bytes, buffers,
                                 wait, repetitions);
}

void region_begin(const char* name) {
  if (is_open) runtime::begin_region(name);
}

void region_end() {
  if (is_open) runtime::end_region();
}

int pcontrol(int level, void* i1, void* i2, void* i3, void* i4, void* i5, double f0, double f1, double f2,
             double f3, double f4, double f5, double f6, double f7, void* s0, void* s1, void* s2, void* s3,
             void* s4, void* s5, void* s6, void* s7) {
  constexpr int most_numbered = 100;
  if (level == UNISONO_PCONTROL_BEGIN) {
    const auto* name = static_cast<const char*>(i1);
    if (name != nullptr) region_begin(name);
    return MPI_SUCCESS;
  }
  if (level == UNISONO_PCONTROL_END) {
    region_end();
    return MPI_SUCCESS;
  }
  if (level >= UNISONO_PCONTROL_NUMBERED && level < UNISONO_PCONTROL_NUMBERED + most_numbered) {
    region_begin(std::to_string(level - UNISONO_PCONTROL_NUMBERED).c_str());
    return MPI_SUCCESS;
  }
  if (level == 0 || level == 1) profile::set_on(level == 1);
  return pmpi.Pcontrol(level, i1, i2, i3, i4, i5, f0, f1, f2, f3, f4, f5, f6, f7, s0, s1, s2, s3, s4, s5, s6,
                       s7);
}

}  // namespace unisono::adapter
