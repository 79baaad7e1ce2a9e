// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/profile/call_profile.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "adapter/below/functions.h"
#include "adapter/profile/bindings.h"
#include "adapter/profile/known.h"
#include "adapter/profile/wrappers.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/ticks.h"
#include "preload/slots.h"

namespace unisono::adapter::profile {

std::atomic<bool> is_on{false};
std::atomic<unsigned char> has_loaded{0};
__thread ThreadTable* thread_table = nullptr;

namespace {

struct Moment {
  std::uint64_t ticks = 0, ns = 0;
};
Moment now() {
  return {ticks(), now_ns()};
}

Moment opened;  // when the adapter was
std::atomic<double> ns_of_tick{1};
std::atomic<bool> is_run{false};
std::atomic<std::uint64_t> on_since_ns{0}, on_before_ns{0};
std::atomic<ThreadTable*> tables{nullptr};

Mutex looking;
// Never destroyed: programs call MPI from their exit handlers.
Replacements& replacements() UNISONO_REQUIRES(looking) {
  static auto* all = new Replacements;
  return *all;
}

constexpr const char* slot_names[] = {
#define UNISONO_TEXT(name) #name,
    UNISONO_NAMES(UNISONO_TEXT)
#undef UNISONO_TEXT
};

int slot_of(std::string_view name) {
  const auto* found = std::find(std::begin(slot_names), std::end(slot_names), name);
  return found == std::end(slot_names) ? -1 : static_cast<int>(found - std::begin(slot_names));
}

const void* find(const std::string& name) {
  return dlsym(pmpi.library, name.c_str());
}

// The better known the longer ago the adapter was opened.
void measure_ticks() {
  const Moment moment = now();
  if (moment.ticks <= opened.ticks) return;
  ns_of_tick = static_cast<double>(moment.ns - opened.ns) / static_cast<double>(moment.ticks - opened.ticks);
}

// A table outlives its thread, and is used by the next one that begins.
struct FreeTables {
  Mutex mutex;
  std::vector<ThreadTable*> tables UNISONO_GUARDED_BY(mutex);
};
FreeTables& free_tables() {
  static auto* all = new FreeTables;
  return *all;
}

struct GivesBack {
  ~GivesBack() {
    if (table == nullptr) return;
    thread_table = nullptr;
    FreeTables& free = free_tables();
    const LockGuard lock(free.mutex);
    free.tables.push_back(table);
  }
  ThreadTable* table = nullptr;
};

ThreadTable* take_free_table() {
  FreeTables& free = free_tables();
  const LockGuard lock(free.mutex);
  if (free.tables.empty()) return nullptr;
  ThreadTable* table = free.tables.back();
  free.tables.pop_back();
  return table;
}

void add_cells(const ThreadTable& table, std::size_t number, runtime::ProfiledFunction* function) {
  for (int distance = 0; distance < runtime::distance_count; ++distance) {
    const Row* row = table.row(number, static_cast<Distance>(distance));
    for (int size = 0; row != nullptr && size < tuning::size_class_count; ++size) {
      const Cell& cell = (*row)[size];
      if (cell.calls.get() == 0) continue;
      function->cells.push_back({.size_class = size,
                                 .distance = static_cast<Distance>(distance),
                                 .calls = cell.calls.get(),
                                 .bytes = cell.bytes.get(),
                                 .time_s = 1e-9 * tick_ns() * static_cast<double>(cell.ticks.get())});
    }
  }
}

}  // namespace

double tick_ns() {
  return ns_of_tick.load(std::memory_order_relaxed);
}

void begin(UnisonoFunction* served) {
  opened = now();
  const LockGuard lock(looking);
  for (std::size_t number = 0; number < counted_function_count; ++number) {
    const CountedFunction& function = counted_functions[number];
    const int slot = slot_of(function.name);
    if (slot >= 0) {
      targets[number] = served[slot];
      served[slot] = counted_wrappers[number];
      continue;
    }
    const std::string name(function.name);
    const void* outer = find("MPI_" + name);
    const void* inner = find("PMPI_" + name);
    if (inner == nullptr) continue;
    targets[number] = reinterpret_cast<UnisonoFunction>(const_cast<void*>(inner));
    const void* first = dlsym(RTLD_DEFAULT, ("MPI_" + name).c_str());
    replacements()[function.name] = {.of_mpi = outer,
                                     .of_mpi_p = inner,
                                     .wrapper = reinterpret_cast<const void*>(counted_wrappers[number]),
                                     .has_tool = first != nullptr && first != outer && first != inner};
  }
  replace_bindings(replacements(), find("PMPI_Init"));
  is_on = true;
}

// Whoever loads a library has told so before it was there: until it is the look is taken again.
void look_at_loaded() {
  static std::atomic<int> looks{0};
  constexpr int most_looks = 16;
  if (!looking.try_lock()) return;
  const LockGuard lock(looking, std::adopt_lock);
  if (looks.fetch_add(1) >= most_looks) {
    has_loaded = 0;
    looks = 0;
  }
  replace_bindings(replacements(), find("PMPI_Init"));
}

ThreadTable* new_thread_table() {
  ThreadTable* table = take_free_table();
  if (table == nullptr) {
    table = new ThreadTable(counted_function_count);
    table->next = tables.load();
    while (!tables.compare_exchange_weak(table->next, table)) {
    }
  }
  static thread_local GivesBack gives_back;
  gives_back.table = table;
  thread_table = table;
  return table;
}

void begin_run(const std::vector<int>* node_labels) {
  begin_known(node_labels);
  measure_ticks();
  on_since_ns = now_ns();
  is_run = true;
}

void set_on(bool on) {
  if (!is_run || is_on.exchange(on) == on) return;
  const std::uint64_t now = now_ns();
  if (on) {
    on_since_ns = now;
  } else {
    on_before_ns += now - on_since_ns;
  }
}

void end_run() {
  set_on(false);
  is_run = false;
  measure_ticks();
}

runtime::RankProfile counted() {
  runtime::RankProfile profile{.run_s = 1e-9 * static_cast<double>(on_before_ns.load())};
  for (const ThreadTable* table = tables; table != nullptr; table = table->next) ++profile.threads;
  for (std::size_t number = 0; number < counted_function_count; ++number) {
    const CountedFunction& from = counted_functions[number];
    runtime::ProfiledFunction function{.name = "MPI_" + std::string(from.name),
                                       .kind = from.traits.kind,
                                       .is_sending = from.traits.is_sending};
    for (const ThreadTable* table = tables; table != nullptr; table = table->next) {
      add_cells(*table, number, &function);
      function.is_estimated = function.is_estimated || table->is_estimated(number);
    }
    if (!function.cells.empty()) profile.functions.push_back(std::move(function));
  }
  return profile;
}

}  // namespace unisono::adapter::profile
