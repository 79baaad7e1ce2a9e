// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "preload/mapped.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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
  static const char* const names[] = {"openmpi", "mpich", "mpiabi", "unknown"};
  return names[family];
}

struct Search {
  struct UnisonoMappedMpi* found;
  int room;
  int count;
};

static void add(struct Search* search, enum UnisonoFamily family, const char* path) {
  if (search->count < search->room) {
    struct UnisonoMappedMpi* mpi = &search->found[search->count];
    mpi->family = family;
    snprintf(mpi->path, sizeof mpi->path, "%s", path);
  }
  ++search->count;
}

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

static int add_known(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  const char* soname = soname_of(object);
  if (soname == NULL) return 0;
  for (size_t i = 0; i < sizeof known_sonames / sizeof *known_sonames; ++i) {
    if (strcmp(soname, known_sonames[i].soname) == 0)
      add(argument, known_sonames[i].family, object->dlpi_name);
  }
  return 0;
}

// The loader must not be called while it lists its objects: their names are kept, one after the other.
struct Names {
  char* text;
  size_t length;
};

static int keep_name(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  struct Names* names = argument;
  const size_t length = strlen(object->dlpi_name) + 1;
  if (length == 1) return 0;  // the program itself
  char* grown = realloc(names->text, names->length + length);
  if (grown == NULL) return 1;
  memcpy(grown + names->length, object->dlpi_name, length);
  names->text = grown;
  names->length += length;
  return 0;
}

// Does the object itself define an MPI, rather than one of the libraries below it?
static int defines_mpi(const char* path, const void* except) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return 0;
  const void* init = dlsym(handle, "PMPI_Init");
  Dl_info defining;
  Dl_info excepted;
  struct link_map* object = NULL;
  const int is_own = init != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &object) == 0 &&
                     dladdr(init, &defining) != 0 && dladdr(except, &excepted) != 0 &&
                     defining.dli_fbase != excepted.dli_fbase &&
                     strcmp(defining.dli_fname, object->l_name) == 0;
  dlclose(handle);
  return is_own;
}

static void add_unknown(struct Search* search, const void* except) {
  struct Names names = {NULL, 0};
  dl_iterate_phdr(keep_name, &names);
  for (size_t at = 0; at < names.length; at += strlen(names.text + at) + 1) {
    if (defines_mpi(names.text + at, except)) add(search, unisono_unknown_family, names.text + at);
  }
  free(names.text);
}

int unisono_find_mapped_mpis(struct UnisonoMappedMpi* found, int room, const void* except) {
  struct Search search = {found, room, 0};
  dl_iterate_phdr(add_known, &search);
  if (search.count == 0) add_unknown(&search, except);
  return search.count;
}
