// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for a GPU's runtime library: CUDA's driver, or HIP's (-DFAKE_HIP) or Level Zero's loader
// (-DFAKE_LEVEL_ZERO), under the real names, as far as Unisono asks it. Its 'device' memory is mapped without
// access, and a second time for its own copies: whoever reads or writes it otherwise dies.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most_allocations = 4096 };
enum { device_memory = 1, managed_memory };  // as programs/gpu_memory.inc numbers them
static struct {
  char* device;  // what the program has
  char* inside;  // the same memory
  size_t bytes;
  int is_managed;
} allocations[most_allocations];
static int allocation_count;
static long copy_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// --- What tests use (gpu_memory.inc) ---

void* gpu_allocate(size_t bytes, int kind) {
  const int is_managed = kind == managed_memory;
  if (kind != device_memory && !is_managed) return NULL;
  const int file = memfd_create("fake-gpu", 0);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return NULL;
  // With FAKE_GPU_OPEN the MPI can take this memory, too; whether others touch it is not seen then.
  const int is_open = is_managed || getenv("FAKE_GPU_OPEN") != NULL;
  const int access = is_open ? PROT_READ | PROT_WRITE : PROT_NONE;
  char* device = mmap(NULL, bytes, access, MAP_SHARED, file, 0);
  char* inside = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  pthread_mutex_lock(&mutex);
  const int place = allocation_count++;
  allocations[place].device = device;
  allocations[place].inside = inside;
  allocations[place].bytes = bytes;
  allocations[place].is_managed = is_managed;
  pthread_mutex_unlock(&mutex);
  return device;
}

long gpu_copies(void) {
  return copy_count;
}

static int place_of(const void* address) {
  pthread_mutex_lock(&mutex);
  int place = allocation_count - 1;
  const char* at = address;
  while (place >= 0 &&
         (at < allocations[place].device || at >= allocations[place].device + allocations[place].bytes))
    --place;
  pthread_mutex_unlock(&mutex);
  return place;
}

static char* inside(const void* address, size_t bytes) {
  const int place = place_of(address);
  if (place < 0) return NULL;
  const size_t offset = (size_t)((const char*)address - allocations[place].device);
  return offset + bytes <= allocations[place].bytes ? allocations[place].inside + offset : NULL;
}

int gpu_read(void* host, const void* device, size_t bytes) {
  const char* from = inside(device, bytes);
  if (from != NULL) memcpy(host, from, bytes);
  return from == NULL;
}

int gpu_write(void* device, const void* host, size_t bytes) {
  char* into = inside(device, bytes);
  if (into != NULL) memcpy(into, host, bytes);
  return into == NULL;
}

// --- What a runtime has ---

#if defined(FAKE_HIP)

struct attributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
};
static __thread int last_error;

int hipPointerGetAttributes(struct attributes* found, const void* address) {
  const int place = place_of(address);
  memset(found, 0, sizeof *found);
  if (place < 0) return last_error = 1;
  found->type = allocations[place].is_managed ? 3 : 2;
  found->is_managed = allocations[place].is_managed;
  return 0;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  ++copy_count;
  return kind == 1 ? gpu_write(to, from, bytes) : kind == 2 ? gpu_read(to, from, bytes) : 1;
}
int hipStreamSynchronize(void* stream) {
  return stream != NULL;
}
int hipRuntimeGetVersion(int* version) {
  *version = 60342134;
  return 0;
}
int hipGetDeviceCount(int* count) {
  *count = 1;
  return 0;
}
int hipDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = device == 0;
  return 0;
}
int hipPeekAtLastError(void) {
  return last_error;
}
int hipGetLastError(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}

#elif defined(FAKE_LEVEL_ZERO)

struct description {
  int type;
  const void* next;
};
struct properties {
  int type;
  void* next;
  int memory_type;
  uint64_t id, page_bytes;
};
static int driver, device, context, list;

int zeDriverGet(uint32_t* count, void** drivers) {
  if (drivers != NULL) drivers[0] = &driver;
  *count = 1;
  return 0;
}
int zeDeviceGet(void* of, uint32_t* count, void** devices) {
  if (devices != NULL) devices[0] = &device;
  *count = 1;
  return of != &driver;
}
int zeContextCreate(void* of, const struct description* wanted, void** made) {
  *made = &context;
  return of != &driver || wanted->type != 0xd;
}
int zeMemGetAllocProperties(void* in, const void* address, struct properties* found, void** of) {
  const int place = place_of(address);
  if (in != &context || found->type != 0x17) return 1;
  found->memory_type = place < 0 ? 0 : allocations[place].is_managed ? 3 : 2;
  *of = place < 0 ? NULL : &device;
  return 0;
}
int zeCommandListCreateImmediate(void* in, void* of, const struct description* wanted, void** made) {
  *made = &list;
  return in != &context || of != &device || wanted->type != 0xe;
}
int zeCommandListAppendMemoryCopy(void* on, void* to, const void* from, size_t bytes, void* event,
                                  uint32_t count, void** events) {
  if (on != &list || event != NULL || count != 0 || events != NULL) return 1;
  ++copy_count;
  return place_of(to) >= 0 ? gpu_write(to, from, bytes) : gpu_read(to, from, bytes);
}

#else

static int a_context;
static __thread void* current[8];
static __thread int depth;

int cuPointerGetAttributes(unsigned count, int* wanted, void** into, unsigned long long address) {
  const int place = place_of((void*)(uintptr_t)address);
  for (unsigned i = 0; i < count; ++i) {
    const int is_known = place >= 0;
    if (wanted[i] == 1) *(void**)into[i] = is_known ? &a_context : NULL;
    if (wanted[i] == 2) *(unsigned*)into[i] = is_known ? 2 : 0;
    if (wanted[i] == 8) *(unsigned char*)into[i] = (unsigned char)(is_known && allocations[place].is_managed);
    if (wanted[i] == 9) *(int*)into[i] = is_known ? 0 : -2;
  }
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  current[++depth] = context;
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = current[depth--];
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = current[depth];
  return 0;
}
int cuMemcpyDtoH_v2(void* host, unsigned long long device, size_t bytes) {
  ++copy_count;
  return current[depth] != &a_context ? 201 : gpu_read(host, (void*)(uintptr_t)device, bytes);
}
int cuMemcpyHtoD_v2(unsigned long long device, const void* host, size_t bytes) {
  ++copy_count;
  return current[depth] != &a_context ? 201 : gpu_write((void*)(uintptr_t)device, host, bytes);
}
int cuStreamSynchronize(void* stream) {
  return stream != NULL || current[depth] != &a_context;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = device == 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &a_context;
  return device != 0;
}

#endif
