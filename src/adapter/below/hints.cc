// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/hints.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "adapter/below/functions.h"
#include "adapter/below/marks.h"
#include "adapter/below/nesting.h"
#include "base/log.h"
#include "runtime/runtime.h"

namespace unisono::adapter {
namespace {

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
host::Hint read_reproducible(MPI_Info info) {
  const std::optional<std::string> read = read_key(info, "unisono_reproducible");
  if (!read) return host::Hint::none;
  const std::string& value = *read;
  if (std::ranges::find(yes_words, value) != std::end(yes_words)) return host::Hint::yes;
  if (std::ranges::find(no_words, value) != std::end(no_words)) return host::Hint::no;
  // Who asks for the same bits and does not get them must hear of it.
  log::warning_once("info key unisono_reproducible has the value '" + value +
                    "', which says nothing: it takes 1, true, yes, on, and 0, false, no, off");
  return host::Hint::none;
}

// MPI 4.1, section 6.13.
host::Hint read_ordered_persistent(MPI_Info info) {
  const std::optional<std::string> value = read_key(info, "mpi_assert_strict_persistent_collective_ordering");
  return value == "true" ? host::Hint::yes : value == "false" ? host::Hint::no : host::Hint::none;
}

struct Hints {
  host::Hint reproducible, ordered_persistent;
  bool says_something() const {
    return reproducible != host::Hint::none || ordered_persistent != host::Hint::none;
  }
};
Hints read_hints(MPI_Info info) {
  return {.reproducible = read_reproducible(info), .ordered_persistent = read_ordered_persistent(info)};
}

void keep_hints(MPI_Comm comm, const Hints& hints) {
  Marks marks = marks_of(comm);
  const bool is_new = marks.reproducible != hints.reproducible;
  marks.reproducible = hints.reproducible;
  marks.ordered_persistent = hints.ordered_persistent;
  marks.has_info = true;
  set_marks(comm, marks);
  if (is_new) runtime::hints_changed(widen<host::Comm>(comm));
}

}  // namespace

int comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int result = pmpi.Comm_set_info(comm, info);
  if (result != MPI_SUCCESS || nesting != 0) return result;
  const Nested nested;
  // Keys that are not given keep their values.
  const Marks before = marks_of(comm);
  Hints hints = read_hints(info);
  if (hints.reproducible == host::Hint::none) hints.reproducible = before.reproducible;
  if (hints.ordered_persistent == host::Hint::none) hints.ordered_persistent = before.ordered_persistent;
  keep_hints(comm, hints);
  return result;
}

int give_hints(int result, MPI_Info info, const MPI_Comm* created, bool is_always_marked) {
  if (result != MPI_SUCCESS || nesting != 0 || *created == MPI_COMM_NULL) return result;
  const Nested nested;
  const Hints hints = read_hints(info);
  if (is_always_marked || hints.says_something()) keep_hints(*created, hints);
  return result;
}

// The hosts know the new communicator at once, as far as attributes go.
int comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created, MPI_Request* request) {
  const int result = pmpi.Comm_idup_with_info != nullptr
                         ? pmpi.Comm_idup_with_info(comm, info, created, request)
                         : pmpi.Comm_idup(comm, created, request);
  return give_hints(result, info, created, true);
}

}  // namespace unisono::adapter
