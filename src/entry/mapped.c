// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "entry/mapped.h"

#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char* soname;
  enum UnisonoFamily family;
} known_sonames[] = {
    {"libmpi.so.40", unisono_openmpi},   // Open MPI 3, 4, 5
    {"libmpi.so.12", unisono_mpich},     // the MPICH ABI: MPICH, Intel MPI, MVAPICH
    {"libmpich.so.12", unisono_mpich},   // the same under Debian's name
    {"libmpi_abi.so.1", unisono_mpiabi}  // the standard ABI of MPI 5
};

const char* unisono_family_name(enum UnisonoFamily family) {
  static const char* const names[] = {"openmpi", "mpich", "mpiabi"};
  return names[family];
}

struct Search {
  struct UnisonoMappedMpi* found;
  int room;
  int count;
};

static const char* soname_of(const struct dl_phdr_info* object) {
  const ElfW(Dyn)* dynamic = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = (const ElfW(Dyn)*)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    }
  }
  if (dynamic == NULL) return NULL;
  ElfW(Addr) strings = 0;
  ElfW(Xword) offset = 0;
  int has_soname = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_STRTAB) strings = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_SONAME) {
      offset = dynamic->d_un.d_val;
      has_soname = 1;
    }
  }
  if (strings == 0 || !has_soname) return NULL;
  // Some loaders relocate the address in the mapped object, some leave it relative.
  if (strings < object->dlpi_addr) strings += object->dlpi_addr;
  return (const char*)(strings + offset);
}

static int look_at(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  struct Search* search = argument;
  const char* soname = soname_of(object);
  if (soname == NULL) return 0;
  for (size_t i = 0; i < sizeof known_sonames / sizeof *known_sonames; ++i) {
    if (strcmp(soname, known_sonames[i].soname) != 0) continue;
    if (search->count < search->room) {
      struct UnisonoMappedMpi* mpi = &search->found[search->count];
      mpi->family = known_sonames[i].family;
      snprintf(mpi->path, sizeof mpi->path, "%s", object->dlpi_name);
    }
    ++search->count;
  }
  return 0;
}

int unisono_find_mapped_mpis(struct UnisonoMappedMpi* found, int room) {
  struct Search search = {found, room, 0};
  dl_iterate_phdr(look_at, &search);
  return search.count;
}
