// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/marks.h"

#include <atomic>
#include <optional>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/below/place.h"
#include "runtime/host_freeing.h"

namespace unisono::adapter {
namespace {

int keyval = MPI_KEYVAL_INVALID;
std::atomic<bool> has_any_of_session{false};

int inherit(MPI_Comm, int, void*, void* value, void* copy, int* is_copied) {
  *static_cast<void**>(copy) = value;
  *is_copied = 1;
  return MPI_SUCCESS;
}

int delete_nothing(MPI_Comm, int, void*, void*) {
  return MPI_SUCCESS;
}

// Where each of them stands in the number.
constexpr unsigned ordered_shift = 2, info_shift = 4, session_shift = 5;
constexpr std::uintptr_t hint_mask = 3;

}  // namespace

Marks Marks::of(std::uintptr_t bits) {
  return {.reproducible = static_cast<host::Hint>(bits & hint_mask),
          .ordered_persistent = static_cast<host::Hint>(bits >> ordered_shift & hint_mask),
          .has_info = (bits >> info_shift & 1) != 0,
          .is_of_session = (bits >> session_shift & 1) != 0};
}

std::uintptr_t Marks::bits() const {
  return static_cast<std::uintptr_t>(reproducible) |
         static_cast<std::uintptr_t>(ordered_persistent) << ordered_shift |
         static_cast<std::uintptr_t>(has_info) << info_shift |
         static_cast<std::uintptr_t>(is_of_session) << session_shift;
}

void begin_marks() {
  if (pmpi.Comm_create_keyval(inherit, delete_nothing, &keyval, nullptr) != MPI_SUCCESS)
    keyval = MPI_KEYVAL_INVALID;
}

Marks marks_of(MPI_Comm comm) {
  if (keyval == MPI_KEYVAL_INVALID) return {};
  if (const auto kept = runtime::marks_while_freeing(widen<host::Comm>(comm)); kept) return Marks::of(*kept);
  void* value = nullptr;
  int is_set = 0;
  if (pmpi.Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_set) != MPI_SUCCESS) return {};
  return is_set != 0 ? Marks::of(reinterpret_cast<std::uintptr_t>(value)) : Marks{};
}

void set_marks(MPI_Comm comm, const Marks& marks) {
  if (keyval == MPI_KEYVAL_INVALID) return;
  if (marks.is_of_session) has_any_of_session.store(true, std::memory_order_release);
  pmpi.Comm_set_attr(comm, keyval, reinterpret_cast<void*>(marks.bits()));
}

void detach_marks(MPI_Comm comm) {
  delete_attribute(comm, keyval);
}

void restore_marks(MPI_Comm comm, const Marks& kept) {
  Marks marks = marks_of(comm);
  marks.is_of_session = marks.is_of_session || kept.is_of_session;
  // What a callback has said of it meanwhile holds.
  if (!marks.has_info) {
    marks.has_info = kept.has_info;
    marks.reproducible = kept.reproducible;
    marks.ordered_persistent = kept.ordered_persistent;
  }
  if (marks.has_info || marks.is_of_session) set_marks(comm, marks);
}

bool is_of_session(MPI_Comm comm) {
  return has_any_of_session.load(std::memory_order_acquire) && marks_of(comm).is_of_session;
}

void mark_of_session(MPI_Comm comm) {
  const Nested nested;
  Marks marks = marks_of(comm);
  marks.is_of_session = true;
  set_marks(comm, marks);
}

bool has_session_communicators() {
  return has_any_of_session.load(std::memory_order_acquire);
}

}  // namespace unisono::adapter
