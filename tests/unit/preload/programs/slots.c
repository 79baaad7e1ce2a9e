// SPDX-License-Identifier: BSD-3-Clause
// slots MPI ADAPTER: opens a real MPI's library as Python does, for itself alone, and the adapter on it, and
// says which slots are empty or lie outside the adapter. Those of messages lead to the MPI's own functions,
// and are made of what there is where it has none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "preload/adapter_library.h"

#define NAME(name) #name,
static const char* const names[unisono_slot_count] = {UNISONO_NAMES(NAME)};

#define IS_MESSAGE(name) [unisono_slot_##name] = 1,
static const int is_message[unisono_slot_count] = {UNISONO_MESSAGE_NAMES(IS_MESSAGE)};

// Where the MPI cannot flush a buffer Unisono does, and has to know which one is attached.
static int is_watched(int slot, void* mpi) {
  const int is_of_buffers = slot == unisono_slot_Buffer_attach || slot == unisono_slot_Buffer_attach_c ||
                            slot == unisono_slot_Buffer_detach || slot == unisono_slot_Buffer_detach_c;
  return is_of_buffers && dlsym(mpi, "PMPI_Buffer_flush") == NULL;
}

static int is_right(int slot, UnisonoFunction function, const Dl_info* own, void* mpi) {
  Dl_info info;
  char name[64];
  snprintf(name, sizeof name, "PMPI_%s", names[slot]);
  UnisonoFunction of_mpi = (UnisonoFunction)dlsym(mpi, name);
  if (is_message[slot] && of_mpi != NULL && !is_watched(slot, mpi)) return function == of_mpi;
  return function != NULL && dladdr((void*)function, &info) != 0 && info.dli_fbase == own->dli_fbase;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* mpi = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  void* library = mpi == NULL ? NULL : dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  UnisonoOpenAdapter* open =
      library == NULL ? NULL : (UnisonoOpenAdapter*)dlsym(library, UNISONO_OPEN_ADAPTER);
  if (open == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  char problem[512];
  const struct UnisonoAdapter* adapter = open(mpi, problem, sizeof problem);
  if (adapter == NULL) {
    fprintf(stderr, "%s\n", problem);
    return 1;
  }
  Dl_info own;
  dladdr((void*)open, &own);
  int bad = adapter->slot_count != unisono_slot_count || adapter->set_enabled == NULL ||
            adapter->is_active == NULL || adapter->set_algorithm == NULL || adapter->decision == NULL ||
            adapter->decision_on == NULL || adapter->operation_time == NULL || adapter->distance == NULL;
  for (int slot = 0; slot < unisono_slot_count; ++slot) {
    if (!is_right(slot, adapter->functions[slot], &own, mpi)) {
      fprintf(stderr, "slot %s is empty or leads astray\n", names[slot]);
      bad = 1;
    }
  }
  return bad;
}
