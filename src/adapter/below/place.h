// SPDX-License-Identifier: BSD-3-Clause
// This process's place in a communicator, remembered: a wrapper needs it to know which arguments mean
// something.
#pragma once

#include <atomic>
#include <cstdint>

#include "adapter/below/family.h"

namespace unisono::adapter {

struct Place {
  int rank;
  int size;
};

// Once, after the host's MPI_Init.
void begin_places();

// Counts the communicators freed that places were remembered of: their handles may come again as others.
extern std::atomic<unsigned> freed_communicators;

struct RememberedPlace {
  MPI_Comm comm;
  unsigned freed_before;
  Place place;
};
inline constexpr std::size_t remembered_places = 8;
extern __thread RememberedPlace places[remembered_places] __attribute__((tls_model("initial-exec")));

// Before the host frees a communicator for the program.
void detach_place(MPI_Comm comm);

// Deletes an attribute of ours, where it is set.
void delete_attribute(MPI_Comm comm, int keyval);

// Asks the host, and remembers. False where the host reports an error.
bool ask_place(MPI_Comm comm, RememberedPlace* remembered);

inline bool find_place(MPI_Comm comm, Place* place) {
  // The low bits of a pointer say little, those of an int all.
  const auto bits = widen<std::uintptr_t>(comm);
  RememberedPlace& remembered = places[(bits ^ bits >> 7) % remembered_places];
  if (remembered.comm != comm ||
      remembered.freed_before != freed_communicators.load(std::memory_order_relaxed)) {
    if (!ask_place(comm, &remembered)) return false;
  }
  *place = remembered.place;
  return true;
}

}  // namespace unisono::adapter
