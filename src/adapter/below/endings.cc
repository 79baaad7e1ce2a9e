// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/endings.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/below/place.h"

namespace unisono::host::mpi {
namespace {

std::vector<Ending>& endings() {
  thread_local std::vector<Ending> all;
  return all;
}

// --- Communicators of sessions: an attribute that says nothing but that it is there ---

int session_keyval = MPI_KEYVAL_INVALID;
std::atomic<bool> has_any_of_session{false};

int inherit(MPI_Comm, int, void*, void* value, void* copy, int* is_copied) {
  *static_cast<void**>(copy) = value;
  *is_copied = 1;
  return MPI_SUCCESS;
}

int delete_nothing(MPI_Comm, int, void*, void*) {
  return MPI_SUCCESS;
}

}  // namespace

void begin_endings() {
  if (pmpi.Comm_create_keyval(inherit, delete_nothing, &session_keyval, nullptr) != MPI_SUCCESS)
    session_keyval = MPI_KEYVAL_INVALID;
}

const Ending* find_ending(MPI_Comm comm) {
  const std::vector<Ending>& all = endings();
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const Ending& entry) { return entry.comm == comm; });
  return found == all.rend() ? nullptr : &*found;
}

void begin_ending(MPI_Comm comm) {
  const bool is_session = is_of_session(comm);
  const KeptHint hint = take_hint(comm);
  detach_place(comm);
  delete_attribute(comm, session_keyval);
  endings().push_back({comm, hint, is_session});
}

void end_ending(MPI_Comm comm, bool is_freed) {
  freed_communicators.fetch_add(1, std::memory_order_relaxed);
  const Ending* ending = find_ending(comm);
  const Ending kept = *ending;
  endings().erase(endings().begin() + (ending - endings().data()));
  if (is_freed) return;
  restore_hint(comm, kept.hint);
  if (kept.is_session) mark_of_session(comm);
}

bool is_of_session(MPI_Comm comm) {
  if (!has_any_of_session.load(std::memory_order_acquire)) return false;
  if (const Ending* ending = find_ending(comm); ending != nullptr) return ending->is_session;
  void* value = nullptr;
  int is_set = 0;
  return pmpi.Comm_get_attr(comm, session_keyval, static_cast<void*>(&value), &is_set) == MPI_SUCCESS &&
         is_set != 0;
}

void mark_of_session(MPI_Comm comm) {
  const Nested nested;
  if (session_keyval == MPI_KEYVAL_INVALID) return;
  pmpi.Comm_set_attr(comm, session_keyval, nullptr);
  has_any_of_session.store(true, std::memory_order_release);
}

bool has_session_communicators() {
  return has_any_of_session.load(std::memory_order_acquire);
}

}  // namespace unisono::host::mpi
