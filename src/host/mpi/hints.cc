// SPDX-License-Identifier: BSD-3-Clause
#include "host/mpi/hints.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "base/log.h"
#include "host/mpi/functions.h"
#include "host/mpi/life.h"
#include "runtime/runtime.h"

namespace unisono::host::mpi {
namespace {

// The attribute's value is a Hint as a number in a pointer. It is there wherever an info object was given.
int keyval = MPI_KEYVAL_INVALID;

int inherit(MPI_Comm, int, void*, void* value, void* copy, int* is_copied) {
  *static_cast<void**>(copy) = value;
  *is_copied = 1;
  return MPI_SUCCESS;
}

int delete_nothing(MPI_Comm, int, void*, void*) {
  return MPI_SUCCESS;
}

constexpr std::string_view yes_words[] = {"1", "true", "yes", "on"};
constexpr std::string_view no_words[] = {"0", "false", "no", "off"};

// What the key says; none where it is not there, or says neither.
Hint read_hint(MPI_Info info) {
  if (info == MPI_INFO_NULL) return Hint::none;
  char text[32] = "";
  int is_there = 0;
  const int error = pmpi.Info_get(info, "unisono_reproducible", sizeof text - 1, text, &is_there);
  if (error != MPI_SUCCESS || is_there == 0) return Hint::none;
  std::string value(text);
  for (char& letter : value) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (std::ranges::find(yes_words, value) != std::end(yes_words)) return Hint::yes;
  if (std::ranges::find(no_words, value) != std::end(no_words)) return Hint::no;
  // Who asks for the same bits and does not get them must hear of it.
  log::warning_once("info key unisono_reproducible has the value '" + std::string(text) +
                    "', which says nothing: it takes 1, true, yes, on, and 0, false, no, off");
  return Hint::none;
}

void keep_hint(MPI_Comm comm, Hint hint) {
  if (keyval == MPI_KEYVAL_INVALID) return;
  const bool is_new = reproducible_hint(comm) != hint;
  pmpi.Comm_set_attr(comm, keyval, reinterpret_cast<void*>(static_cast<std::uintptr_t>(hint)));
  if (is_new) runtime::hints_changed(widen<Comm>(comm));
}

// The attribute's value, if there is one.
bool look_up(MPI_Comm comm, Hint* hint) {
  void* value = nullptr;
  int is_set = 0;
  if (keyval == MPI_KEYVAL_INVALID) return false;
  if (pmpi.Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_set) != MPI_SUCCESS) return false;
  *hint = static_cast<Hint>(reinterpret_cast<std::uintptr_t>(value));
  return is_set != 0;
}

}  // namespace

void begin_hints() {
  if (pmpi.Comm_create_keyval(inherit, delete_nothing, &keyval, nullptr) != MPI_SUCCESS) {
    keyval = MPI_KEYVAL_INVALID;
  }
}

Hint reproducible_hint(MPI_Comm comm) {
  Hint hint = Hint::none;
  return look_up(comm, &hint) ? hint : Hint::none;
}

bool has_hints(MPI_Comm comm) {
  Hint hint = Hint::none;
  return look_up(comm, &hint);
}

int comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int result = pmpi.Comm_set_info(comm, info);
  if (result != MPI_SUCCESS || nesting != 0) return result;
  const Nested nested;
  // Keys that are not given keep their values.
  const Hint hint = read_hint(info);
  keep_hint(comm, hint != Hint::none ? hint : reproducible_hint(comm));
  return result;
}

int comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created) {
  const int result = pmpi.Comm_dup_with_info(comm, info, created);
  if (result != MPI_SUCCESS || nesting != 0) return result;
  const Nested nested;
  // The new communicator has the hints that are given, and no others.
  keep_hint(*created, read_hint(info));
  return result;
}

}  // namespace unisono::host::mpi
