// SPDX-License-Identifier: BSD-3-Clause
// Finds out at the first call which MPI the process holds, and fills the jump table. It holds the adapter's
// wrappers, or the host MPI's own functions where there is no adapter to use. Nothing is held locked here:
// two threads that come at once do the same work and store the same values.
#define _GNU_SOURCE
#include "preload/resolve.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/error_message.h"
#include "preload/mapped.h"

enum Mode {
  undecided,  // no MPI was mapped so far
  through_adapter,
  host_alone,  // one MPI, no adapter for it
  by_caller,   // several MPIs: each call goes where its caller would have gone without us
};

enum { most_mpis = 4 };

static _Atomic int mode = undecided;
static _Atomic(const struct UnisonoAdapter*) open_adapter;
static _Atomic(void*) host_handle;
// Every MPI in the process.
static _Atomic(void*) mpi_handles[most_mpis];

#define HOST_NAME(name) "PMPI_" #name,
static const char* const host_names[unisono_slot_count] = {UNISONO_NAMES(HOST_NAME)};
#undef HOST_NAME

void unisono_no_function(const char* name, const char* why) {
  unisono_say("%s was called, but %s", name, why);
  abort();
}

const struct UnisonoAdapter* unisono_open_adapter_or_null(void) {
  return atomic_load(&open_adapter);
}

// --- Calls that go to the host MPI ---

static int is_own(const void* address) {
  Dl_info own;
  Dl_info other;
  return dladdr((const void*)unisono_slots, &own) != 0 && dladdr(address, &other) != 0 &&
         own.dli_fbase == other.dli_fbase;
}

// A function among the libraries that the object around `caller` was linked with.
static void* function_of_callers_library(const char* name, const void* caller) {
  Dl_info info;
  struct link_map* object = NULL;
  if (dladdr1(caller, &info, (void**)&object, RTLD_DL_LINKMAP) == 0 || object == NULL) return NULL;
  if (object->l_name[0] == '\0') return NULL;  // the program itself: RTLD_NEXT has looked where it looks
  void* handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return NULL;
  void* function = dlsym(handle, name);
  dlclose(handle);
  return function == NULL || is_own(function) ? NULL : function;
}

// For a caller that left its own call frame (`return MPI_Barrier(comm);`), so that one cannot see which
// library it was linked with: the function of the one MPI that is initialized.
static void* function_of_initialized_mpi(const char* name) {
  void* function = NULL;
  int initialized_count = 0;
  for (int i = 0; i < most_mpis; ++i) {
    void* handle = atomic_load(&mpi_handles[i]);
    int (*initialized)(int*) = handle == NULL ? NULL : (int (*)(int*))dlsym(handle, "PMPI_Initialized");
    int is_initialized = 0;
    if (initialized == NULL || initialized(&is_initialized) != 0 || is_initialized == 0) continue;
    ++initialized_count;
    function = dlsym(handle, name);
  }
  return initialized_count == 1 ? function : NULL;
}

UnisonoFunction unisono_host_function(int slot, const void* caller) {
  return unisono_host_function_named(host_names[slot], caller);
}

UnisonoFunction unisono_host_function_named(const char* name, const void* caller) {
  void* handle = atomic_load(&host_handle);
  void* function = NULL;
  if (handle != NULL) {
    function = dlsym(handle, name);
  } else {
    function = dlsym(RTLD_NEXT, name);
    if (function == NULL) function = function_of_callers_library(name, caller);
    if (function == NULL) function = function_of_initialized_mpi(name);
  }
  return (UnisonoFunction)function;
}

static UnisonoFunction host_or_narrowing(int slot, const void* caller) {
  UnisonoFunction function = unisono_host_function(slot, caller);
  return function != NULL ? function : unisono_narrowing(slot);
}

// The MPI_ function of a tool that the program is linked with: what the program would call without us, where
// that is none of the MPI's own. A preloaded tool stands before us and is not seen.
static UnisonoFunction tool_function(int slot) {
  const char* name = host_names[slot] + 1;
  void* function = dlsym(RTLD_NEXT, name);
  if (function == NULL) return NULL;
  for (int i = 0; i < most_mpis; ++i) {
    void* handle = atomic_load(&mpi_handles[i]);
    if (handle != NULL && dlsym(handle, name) == function) return NULL;
  }
  return (UnisonoFunction)function;
}

// --- Finding out ---

// Ranks with Unisono look into the process table for those that they wait for in vain
// (src/runtime/world/node_processes.cc): the mapping is there to be seen.
static void show_that_it_runs_without(void) {
  const int file = memfd_create("unisono-not-used", MFD_CLOEXEC);
  if (file < 0) return;
  if (ftruncate(file, 1) == 0) mmap(NULL, 1, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
}

static void say_that_it_runs_without(const char* reason) {
  static atomic_flag is_said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&is_said)) {
    show_that_it_runs_without();
    unisono_say_once_per_job("%s; the program runs without Unisono", reason);
  }
}

// Where this library lies, if the loader knows a path alone that began in the directory of then.
static char* path_at_start;

__attribute__((constructor)) static void note_relative_path(void) {
  Dl_info info;
  if (dladdr((const void*)unisono_slots, &info) == 0 || info.dli_fname == NULL) return;
  if (info.dli_fname[0] == '/') return;
  char* directory = getcwd(NULL, 0);
  if (directory == NULL || asprintf(&path_at_start, "%s/%s", directory, info.dli_fname) < 0)
    path_at_start = NULL;
  free(directory);
}

static int path_beside(const char* library, enum UnisonoFamily family, char* path, size_t room) {
  const int directory_length = (int)(strrchr(library, '/') - library) + 1;
  const int length =
      snprintf(path, room, "%.*slibunisono-%s.so", directory_length, library, unisono_family_name(family));
  return length > 0 && (size_t)length < room;
}

// Path of the adapter: beside this library, or beside the file that a link to it leads to.
static int adapter_path(enum UnisonoFamily family, char* path, size_t room) {
  Dl_info info;
  const char* own = path_at_start;
  if (own == NULL && dladdr((const void*)unisono_slots, &info) != 0) own = info.dli_fname;
  if (own == NULL || own[0] != '/' || !path_beside(own, family, path, room)) return 0;
  if (access(path, F_OK) == 0) return 1;
  char* file = realpath(own, NULL);
  const int is_written = file == NULL || path_beside(file, family, path, room);
  free(file);
  return is_written;
}

static const struct UnisonoAdapter* load_adapter(enum UnisonoFamily family, void* mpi, char* problem,
                                                 size_t problem_bytes) {
  char path[PATH_MAX];
  if (!adapter_path(family, path, sizeof path)) {
    snprintf(problem, problem_bytes, "cannot tell where libunisono.so lies");
    return NULL;
  }
  // Nothing of the adapter enters the global scope; it finds the host MPI by handle (and Open MPI's data by
  // soname).
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(problem, problem_bytes, "cannot load the adapter for this MPI: %s", dlerror());
    return NULL;
  }
  UnisonoOpenAdapter* open = (UnisonoOpenAdapter*)dlsym(library, UNISONO_OPEN_ADAPTER);
  if (open == NULL) {
    snprintf(problem, problem_bytes, "%s is no adapter of Unisono", path);
    return NULL;
  }
  const struct UnisonoAdapter* adapter = open(mpi, problem, problem_bytes);
  if (adapter == NULL) return NULL;
  if (strcmp(adapter->version, UNISONO_VERSION) != 0 || adapter->slot_count != unisono_slot_count) {
    snprintf(problem, problem_bytes, "%s is of another version (%s, this is %s)", path, adapter->version,
             UNISONO_VERSION);
    return NULL;
  }
  return adapter;
}

// What the function reads must be seen by every thread that finds it.
static void store(int place, UnisonoFunction function) {
  __atomic_store_n(&unisono_slots[place], function, __ATOMIC_RELEASE);
}

// Slots of functions that the process's MPI lacks stay as they are: calling one is the error, not being
// without it.
static void fill(int slot, UnisonoFunction function) {
  if (function == NULL) return;
  UnisonoFunction tool = tool_function(slot);
  store(slot, function);
  store(unisono_slot_count + slot, tool != NULL ? tool : function);
}

static void use_adapter(const struct UnisonoAdapter* adapter) {
  atomic_store(&open_adapter, adapter);
  unisono_watch_loads(adapter->has_loaded, adapter->has_loaded_too);
  unisono_pass_on_setting(adapter);
  for (int slot = 0; slot < unisono_slot_count; ++slot) fill(slot, adapter->functions[slot]);
  atomic_store(&mode, through_adapter);
}

static void use_host_alone(void* mpi) {
  atomic_store(&host_handle, mpi);
  for (int slot = 0; slot < unisono_slot_count; ++slot) {
    fill(slot, host_or_narrowing(slot, NULL));
  }
  atomic_store(&mode, host_alone);
}

static void* open_again(const struct UnisonoMappedMpi* mpi) {
  void* handle = dlopen(mpi->path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL)
    unisono_no_function("an MPI function", "the MPI in this process cannot be opened again");
  return handle;
}

static void use_one(const struct UnisonoMappedMpi* mpi) {
  char problem[PATH_MAX + 512];
  void* handle = open_again(mpi);
  atomic_store(&mpi_handles[0], handle);
  const struct UnisonoAdapter* adapter = NULL;
  if (mpi->family == unisono_unknown_family) {
    snprintf(problem, sizeof problem, "the MPI in %s is of no ABI family that Unisono knows", mpi->path);
  } else {
    adapter = load_adapter(mpi->family, handle, problem, sizeof problem);
  }
  if (adapter != NULL) {
    use_adapter(adapter);
  } else {
    say_that_it_runs_without(problem);
    use_host_alone(handle);
  }
}

static void use_several(const struct UnisonoMappedMpi* mpis, int count) {
  char problem[2 * PATH_MAX + 512];
  snprintf(problem, sizeof problem, "this process holds more than one MPI (%s and %s)", mpis[0].path,
           mpis[1].path);
  say_that_it_runs_without(problem);
  for (int i = 0; i < count && i < most_mpis; ++i) atomic_store(&mpi_handles[i], open_again(&mpis[i]));
  atomic_store(&mode, by_caller);
}

// Leaves the mode undecided where no MPI is mapped: the next call looks again.
static void decide(void) {
  struct UnisonoMappedMpi mpis[most_mpis];
  const int count = unisono_find_mapped_mpis(mpis, most_mpis, unisono_slots);
  if (count == 1) use_one(&mpis[0]);
  if (count > 1) use_several(mpis, count);
}

UnisonoFunction unisono_resolve(unsigned long place, const void* caller) {
  const int slot = (int)(place % unisono_slot_count);
  const int is_outer = place >= unisono_slot_count;
  if (atomic_load(&mode) == undecided) decide();
  switch (atomic_load(&mode)) {
    case through_adapter:
      if (atomic_load(&open_adapter)->functions[slot] == NULL)
        unisono_no_function(host_names[slot] + 1, "the MPI in this process has no such function");
      return unisono_slots[place];
    case undecided:
      unisono_no_function(host_names[slot] + 1, "no MPI library is loaded in this process");
    default: {
      UnisonoFunction function = is_outer ? tool_function(slot) : NULL;
      if (function == NULL) function = host_or_narrowing(slot, caller);
      if (function == NULL) {
        unisono_no_function(host_names[slot] + 1,
                            "no MPI in this process has such a function for its caller");
      }
      return function;
    }
  }
}
