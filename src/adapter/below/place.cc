// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/place.h"

#include "adapter/below/functions.h"
#include "runtime/host_freeing.h"

namespace unisono::adapter {

std::atomic<unsigned> freed_communicators{0};
__thread RememberedPlace places[remembered_places];

namespace {

int keyval = MPI_KEYVAL_INVALID;

int copy_no_attribute(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int note_freed(MPI_Comm, int, void*, void*) {
  freed_communicators.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

// Makes sure that we hear of the communicator's end.
bool is_watched(MPI_Comm comm) {
  void* value = nullptr;
  int is_set = 0;
  if (keyval == MPI_KEYVAL_INVALID || runtime::marks_while_freeing(widen<host::Comm>(comm))) return false;
  if (pmpi.Comm_get_attr(comm, keyval, static_cast<void*>(&value), &is_set) != MPI_SUCCESS) return false;
  return is_set != 0 || pmpi.Comm_set_attr(comm, keyval, nullptr) == MPI_SUCCESS;
}

}  // namespace

void begin_places() {
  if (pmpi.Comm_create_keyval(copy_no_attribute, note_freed, &keyval, nullptr) != MPI_SUCCESS) {
    keyval = MPI_KEYVAL_INVALID;
  }
}

void delete_attribute(MPI_Comm comm, int of) {
  void* value = nullptr;
  int is_set = 0;
  if (of == MPI_KEYVAL_INVALID) return;
  if (pmpi.Comm_get_attr(comm, of, static_cast<void*>(&value), &is_set) == MPI_SUCCESS && is_set != 0)
    pmpi.Comm_delete_attr(comm, of);
}

void detach_place(MPI_Comm comm) {
  delete_attribute(comm, keyval);
}

bool ask_place(MPI_Comm comm, RememberedPlace* remembered) {
  // Read first: what is freed while we ask makes the entry old at once.
  const unsigned freed_before = freed_communicators.load(std::memory_order_relaxed);
  Place place{};
  if (pmpi.Comm_rank(comm, &place.rank) != MPI_SUCCESS || pmpi.Comm_size(comm, &place.size) != MPI_SUCCESS) {
    return false;
  }
  const bool may_be_remembered = is_watched(comm);
  *remembered = RememberedPlace{may_be_remembered ? comm : MPI_COMM_NULL, freed_before, place};
  return true;
}

}  // namespace unisono::adapter
