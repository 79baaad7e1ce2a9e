// SPDX-License-Identifier: BSD-3-Clause
// Memory of a real GPU for programs of the tests (gpu_memory.inc), by CUDA's driver, without its headers.
// Each thread that calls is given the context which CUDA's runtime library has, too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;
enum { of_gpu = 1, managed, pinned, registered, of_pool, mapped = 7 };  // as gpu_memory.inc numbers them
enum { handle_bytes = 64 };

// As the driver's interface has them.
struct location {
  int type, id;
};
struct allocation {
  int type, handle_types;
  struct location where;
  void* windows;
  unsigned char flags[8];
};
struct access {
  struct location where;
  int flags;
};
struct handle {
  char bytes[handle_bytes];
};
enum { pinned_type = 1, at_device = 1, read_write = 3, attach_global = 1, enable_peers = 1 };

static void* driver;
static void* context;
static int device;

static void* function(const char* name) {
  void* found = dlsym(driver, name);
  if (found == NULL) fprintf(stderr, "the driver has no %s\n", name), exit(7);
  return found;
}
#define CALL(name, types, ...) check(#name, ((int(*) types)function(#name))(__VA_ARGS__))

static int check(const char* name, int error) {
  if (error != 0) fprintf(stderr, "%s: error %d\n", name, error);
  return error;
}

static int begin(void) {
  if (driver == NULL) {
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (driver == NULL) fprintf(stderr, "%s\n", dlerror()), exit(7);
    if (CALL(cuInit, (unsigned), 0) != 0 || CALL(cuDeviceGet, (int*, int), &device, 0) != 0 ||
        CALL(cuDevicePrimaryCtxRetain, (void**, int), &context, device) != 0)
      exit(7);
  }
  return CALL(cuCtxSetCurrent, (void*), context);
}

static void* map_memory(size_t bytes) {
  const struct allocation wanted = {.type = pinned_type, .where = {at_device, device}};
  const struct access access = {{at_device, device}, read_write};
  size_t granularity = 0;
  Address address = 0;
  unsigned long long handle = 0;
  if (CALL(cuMemGetAllocationGranularity, (size_t*, const struct allocation*, int), &granularity, &wanted, 0))
    return NULL;
  bytes = (bytes + granularity - 1) / granularity * granularity;
  if (CALL(cuMemAddressReserve, (Address*, size_t, size_t, Address, unsigned long long), &address, bytes, 0,
           0, 0) ||
      CALL(cuMemCreate, (unsigned long long*, size_t, const struct allocation*, unsigned long long), &handle,
           bytes, &wanted, 0) ||
      CALL(cuMemMap, (Address, size_t, size_t, unsigned long long, unsigned long long), address, bytes, 0,
           handle, 0) ||
      CALL(cuMemSetAccess, (Address, size_t, const struct access*, size_t), address, bytes, &access, 1))
    return NULL;
  return (void*)address;
}

void* gpu_allocate(size_t bytes, int kind) {
  Address address = 0;
  void* of_host = NULL;
  if (begin() != 0) return NULL;
  switch (kind) {
    case of_gpu:
      return CALL(cuMemAlloc_v2, (Address*, size_t), &address, bytes) == 0 ? (void*)address : NULL;
    case managed:
      return CALL(cuMemAllocManaged, (Address*, size_t, unsigned), &address, bytes, attach_global) == 0
                 ? (void*)address
                 : NULL;
    case pinned:
      return CALL(cuMemHostAlloc, (void**, size_t, unsigned), &of_host, bytes, 0) == 0 ? of_host : NULL;
    case registered:
      if (posix_memalign(&of_host, 4096, bytes) != 0) return NULL;
      return CALL(cuMemHostRegister_v2, (void*, size_t, unsigned), of_host, bytes, 0) == 0 ? of_host : NULL;
    case of_pool:
      if (CALL(cuMemAllocAsync, (Address*, size_t, void*), &address, bytes, NULL) != 0 ||
          CALL(cuStreamSynchronize, (void*), NULL) != 0)
        return NULL;
      return (void*)address;
    case mapped:
      return map_memory(bytes);
    default:
      return NULL;
  }
}

int gpu_export(void* memory, void* handle) {
  return begin() || CALL(cuIpcGetMemHandle, (void*, Address), handle, (Address)memory);
}
void* gpu_import(const void* handle) {
  struct handle by_value;
  Address address = 0;
  memcpy(&by_value, handle, sizeof by_value);
  if (begin() ||
      CALL(cuIpcOpenMemHandle_v2, (Address*, struct handle, unsigned), &address, by_value, enable_peers))
    return NULL;
  return (void*)address;
}

// What is done is done when they return.
static int copy(Address to, Address from, size_t bytes) {
  return begin() || CALL(cuMemcpy, (Address, Address, size_t), to, from, bytes) ||
         CALL(cuCtxSynchronize, (void));
}
int gpu_read(void* host, const void* memory, size_t bytes) {
  return copy((Address)host, (Address)memory, bytes);
}
int gpu_write(void* memory, const void* host, size_t bytes) {
  return copy((Address)memory, (Address)host, bytes);
}
