// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's own functions, beside those by name, which may go by way of Unisono.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum { host_path_length = 4096 };

static int find_host(struct dl_phdr_info* object, size_t size, void* result) {
  (void)size;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* file = slash == NULL ? object->dlpi_name : slash + 1;
  if (strncmp(file, "libmpi.so", 9) != 0 && strncmp(file, "libmpich.so", 11) != 0 &&
      strncmp(file, "libmpi_abi.so", 13) != 0) {
    return 0;
  }
  strncpy(result, object->dlpi_name, host_path_length - 1);
  return 1;
}

// The MPI library's own handle: its functions are found there whatever is preloaded. Null where there is
// none.
static void* host_library(void) {
  char path[host_path_length] = "";
  dl_iterate_phdr(find_host, path);
  return path[0] == '\0' ? NULL : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}
