// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/hints.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "adapter/below/endings.h"
#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "base/log.h"
#include "runtime/runtime.h"

namespace unisono::host::mpi {
namespace {

// What info objects have said of a communicator. It is the value of an attribute, as a number in a pointer:
// MPIs drop keys that they do not know. The attribute is there wherever an info object was given.
struct Hints {
  Hint reproducible = Hint::none;
  Hint ordered_persistent = Hint::none;

  static Hints of(const void* value) {
    const auto bits = reinterpret_cast<std::uintptr_t>(value);
    return {.reproducible = static_cast<Hint>(bits & mask),
            .ordered_persistent = static_cast<Hint>(bits >> shift & mask)};
  }
  void* value() const {
    const auto low = static_cast<std::uintptr_t>(reproducible);
    return reinterpret_cast<void*>(low | static_cast<std::uintptr_t>(ordered_persistent) << shift);
  }

 private:
  static constexpr unsigned shift = 2, mask = 3;
};
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

// The key's value in small letters; nothing where it is not there.
std::optional<std::string> read_key(MPI_Info info, const char* key) {
  char text[32] = "";
  int is_there = 0;
  // Open MPI 4 takes short keys alone.
  if (info == MPI_INFO_NULL || std::strlen(key) >= MPI_MAX_INFO_KEY) return std::nullopt;
  const int error = pmpi.Info_get(info, key, sizeof text - 1, text, &is_there);
  if (error != MPI_SUCCESS || is_there == 0) return std::nullopt;
  std::string value(text);
  for (char& letter : value) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return value;
}

// What the key says; none where it is not there, or says neither.
Hint read_reproducible(MPI_Info info) {
  const std::optional<std::string> read = read_key(info, "unisono_reproducible");
  if (!read) return Hint::none;
  const std::string& value = *read;
  if (std::ranges::find(yes_words, value) != std::end(yes_words)) return Hint::yes;
  if (std::ranges::find(no_words, value) != std::end(no_words)) return Hint::no;
  // Who asks for the same bits and does not get them must hear of it.
  log::warning_once("info key unisono_reproducible has the value '" + value +
                    "', which says nothing: it takes 1, true, yes, on, and 0, false, no, off");
  return Hint::none;
}

// MPI 4.1, section 6.13.
Hint read_ordered_persistent(MPI_Info info) {
  const std::optional<std::string> value = read_key(info, "mpi_assert_strict_persistent_collective_ordering");
  return value == "true" ? Hint::yes : value == "false" ? Hint::no : Hint::none;
}

Hints read_hints(MPI_Info info) {
  return {.reproducible = read_reproducible(info), .ordered_persistent = read_ordered_persistent(info)};
}

// The attribute's value, if there is one.
bool look_up(MPI_Comm comm, Hints* hints) {
  void* value = nullptr;
  int is_set = 0;
  if (keyval == MPI_KEYVAL_INVALID) return false;
  if (const Ending* ending = find_ending(comm); ending != nullptr) {
    *hints = Hints::of(ending->hint.value);
    return ending->hint.is_there;
  }
  if (pmpi.Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_set) != MPI_SUCCESS) return false;
  if (is_set != 0) *hints = Hints::of(value);
  return is_set != 0;
}

void keep_hints(MPI_Comm comm, const Hints& hints) {
  if (keyval == MPI_KEYVAL_INVALID) return;
  const bool is_new = reproducible_hint(comm) != hints.reproducible;
  pmpi.Comm_set_attr(comm, keyval, hints.value());
  if (is_new) runtime::hints_changed(widen<Comm>(comm));
}

}  // namespace

void begin_hints() {
  if (pmpi.Comm_create_keyval(inherit, delete_nothing, &keyval, nullptr) != MPI_SUCCESS) {
    keyval = MPI_KEYVAL_INVALID;
  }
}

Hint reproducible_hint(MPI_Comm comm) {
  Hints hints;
  look_up(comm, &hints);
  return hints.reproducible;
}

bool has_ordered_persistent(MPI_Comm comm) {
  Hints hints;
  look_up(comm, &hints);
  return hints.ordered_persistent == Hint::yes;
}

bool has_hints(MPI_Comm comm) {
  Hints hints;
  return look_up(comm, &hints);
}

int comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int result = pmpi.Comm_set_info(comm, info);
  if (result != MPI_SUCCESS || nesting != 0) return result;
  const Nested nested;
  // Keys that are not given keep their values.
  Hints hints;
  look_up(comm, &hints);
  const Hints given = read_hints(info);
  if (given.reproducible != Hint::none) hints.reproducible = given.reproducible;
  if (given.ordered_persistent != Hint::none) hints.ordered_persistent = given.ordered_persistent;
  keep_hints(comm, hints);
  return result;
}

KeptHint take_hint(MPI_Comm comm) {
  KeptHint kept;
  Hints hints;
  kept.is_there = look_up(comm, &hints);
  kept.value = hints.value();
  if (kept.is_there) pmpi.Comm_delete_attr(comm, keyval);
  return kept;
}

void restore_hint(MPI_Comm comm, KeptHint kept) {
  if (!kept.is_there || has_hints(comm)) return;
  pmpi.Comm_set_attr(comm, keyval, kept.value);
}

int give_hints(int result, MPI_Info info, const MPI_Comm* created, bool is_always_marked) {
  if (result != MPI_SUCCESS || nesting != 0 || *created == MPI_COMM_NULL) return result;
  const Nested nested;
  const Hints hints = read_hints(info);
  const bool says_something = hints.reproducible != Hint::none || hints.ordered_persistent != Hint::none;
  if (is_always_marked || says_something) keep_hints(*created, hints);
  return result;
}

int comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created) {
  return give_hints(pmpi.Comm_dup_with_info(comm, info, created), info, created, true);
}

// The hosts know the new communicator at once, as far as attributes go.
int comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created, MPI_Request* request) {
  const int result = pmpi.Comm_idup_with_info != nullptr
                         ? pmpi.Comm_idup_with_info(comm, info, created, request)
                         : pmpi.Comm_idup(comm, created, request);
  return give_hints(result, info, created, true);
}

}  // namespace unisono::host::mpi
