// SPDX-License-Identifier: BSD-3-Clause
// The profile of this process's MPI calls (option profile; docs/guide/profile.md): begins when the adapter is
// opened, and is handed to the runtime when the job ends.
#pragma once

#include <atomic>
#include <vector>

#include "adapter/below/nesting.h"
#include "adapter/profile/counters.h"
#include "preload/adapter_library.h"

namespace unisono::adapter::profile {

// Has the functions that Unisono serves (`served`, by slot) counted, and the MPI's others as well, which then
// come by here wherever the process's libraries call them.
void begin(UnisonoFunction* served);
// When the job is set up: from now on the run is timed. `node_labels`: by rank, or null.
void begin_run(const std::vector<int>* node_labels);
// When the job ends.
void end_run();
// MPI_Pcontrol: the program switches the profile off and on.
void set_on(bool is_on);
// What was counted, after end_run().
runtime::RankProfile counted();

// Not 0: the process has loaded a library since the last look.
extern std::atomic<unsigned char> has_loaded;

// --- For functions that are counted ---

extern std::atomic<bool> is_on;
// By the function's number: what is called in its stead.
extern UnisonoFunction* const targets;
extern __thread ThreadTable* thread_table __attribute__((tls_model("initial-exec")));
ThreadTable* new_thread_table();
void look_at_loaded();
// How long a tick takes, as far as that is known.
double tick_ns();

// Null where the call is not to be counted.
inline ThreadTable* table_to_count_in() {
  if (!is_on.load(std::memory_order_relaxed) || nesting != 0) return nullptr;
  if (has_loaded.load(std::memory_order_relaxed) != 0) look_at_loaded();
  ThreadTable* table = thread_table;
  if (table == nullptr) table = new_thread_table();
  return table->is_inside ? nullptr : table;
}

}  // namespace unisono::adapter::profile
