// SPDX-License-Identifier: BSD-3-Clause
// Functions that the C++ runtime linked into our libraries wants of the C library, and that came later than
// glibc 2.34, the oldest that installations run on. They are hidden: nobody else's calls come here.
#define _GNU_SOURCE
#include "base/older_libc.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// For std::random_device, which is linked in and not used.
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) abort();
  return number;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

struct Looked {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_at(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  const struct Looked* looked = argument;
  const ElfW(Phdr)* frames = NULL;
  const ElfW(Phdr)* around = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) frames = segment;
    if (segment->p_type == PT_LOAD && looked->address >= begin &&
        looked->address - begin < segment->p_memsz) {
      around = segment;
    }
  }
  if (around == NULL || frames == NULL) return 0;
  *looked->found = (struct dl_find_object){.dlfo_eh_frame = (void*)(object->dlpi_addr + frames->p_vaddr)};
  looked->found->dlfo_map_start = (void*)(object->dlpi_addr + around->p_vaddr);
  looked->found->dlfo_map_end = (char*)looked->found->dlfo_map_start + around->p_memsz;
  return 1;
}

int unisono_find_object_by_headers(void* address, struct dl_find_object* found) {
  struct Looked looked = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_at, &looked) == 1 ? 0 : -1;
}

// For exceptions. The C library's own takes no lock, and is used where there is one.
int _dl_find_object(void* address, struct dl_find_object* found) {
  typedef int Find(void*, struct dl_find_object*);
  static Find* own;
  Find* find = __atomic_load_n(&own, __ATOMIC_ACQUIRE);
  if (find == NULL) {
    find = (Find*)dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35");
    if (find == NULL) find = unisono_find_object_by_headers;
    __atomic_store_n(&own, find, __ATOMIC_RELEASE);
  }
  return find(address, found);
}

#endif
