// SPDX-License-Identifier: BSD-3-Clause
// Habits of programs that the entry must bear, one a run: the first argument says which. Prints what should
// be the same natively and under Unisono; with a mode that asks for Unisono itself, OK.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unisono/unisono.h"

static int rank, size;

static void die(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  exit(1);
}

static void begin(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void check_sum(MPI_Comm comm) {
  int members = 0;
  int one = 1;
  int sum = 0;
  MPI_Comm_size(comm, &members);
  if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS || sum != members) die("wrong sum");
}

static void print_once(const char* text) {
  if (rank == 0) puts(text);
  fflush(stdout);
}

// The last word comes before MPI_Finalize: MPICH's launcher may not wait for what is written after it.
static void end(void) {
  print_once("OK");
  MPI_Finalize();
}

// The functions of unisono.h, from before MPI_Init until after MPI_Finalize.
static void run_switch(void) {
  if (unisono_is_active == NULL || unisono_set_enabled == NULL || unisono_version == NULL)
    die("not under Unisono");
  if (strlen(unisono_version()) == 0) die("no version");
  if (unisono_is_active()) die("active before MPI_Init");
  begin();
  if (!unisono_is_active()) die("not active after MPI_Init");
  check_sum(MPI_COMM_WORLD);
  if (unisono_set_enabled(0) != 1 || unisono_is_active()) die("cannot be switched off");
  check_sum(MPI_COMM_WORLD);
  if (unisono_set_enabled(1) != 0 || !unisono_is_active()) die("cannot be switched on again");
  check_sum(MPI_COMM_WORLD);
  char text[64];
  if (unisono_set_algorithm("allreduce:ring") != 0) die("cannot be told an algorithm");
  if (unisono_decision("allreduce", 8, text, sizeof text) < 0 || strncmp(text, "ring", 4) != 0) die(text);
  check_sum(MPI_COMM_WORLD);
  if (unisono_set_algorithm("allreduce:nonsense") != -1) die("takes nonsense for an algorithm");
  if (unisono_set_algorithm("allreduce:native") != 0) die("cannot be told to use the MPI");
  check_sum(MPI_COMM_WORLD);
  if (unisono_decision("allreduce", 8, text, sizeof text) < 0 || strcmp(text, "native") != 0) die(text);
  if (unisono_set_algorithm("") != 0) die("cannot be left to itself again");
  check_sum(MPI_COMM_WORLD);
  if (unisono_decision("nonsense", 8, text, sizeof text) != -1) die("decides on nonsense");
  end();
  if (unisono_is_active()) die("active after MPI_Finalize");
}

static int find_host(struct dl_phdr_info* object, size_t bytes, void* path) {
  (void)bytes;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* file = slash == NULL ? object->dlpi_name : slash + 1;
  const char* const names[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strncmp(file, names[i], strlen(names[i])) == 0) strcpy(path, object->dlpi_name);
  }
  return 0;
}

// MPI_Finalize past any preloaded library: only COMM_SELF's end tells Unisono.
static void run_unseen(void) {
  char path[4096] = "";
  begin();
  check_sum(MPI_COMM_WORLD);
  dl_iterate_phdr(find_host, path);
  void* host = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (host == NULL) die("cannot find the MPI library");
  int (*finalize)(void) = (int (*)(void))dlsym(host, "PMPI_Finalize");
  print_once("OK");
  finalize();
  if (unisono_is_active && unisono_is_active()) die("active after MPI_Finalize");
}

static void finalize_at_exit(void) {
  check_sum(MPI_COMM_WORLD);
  print_once("finalizing at exit");
  MPI_Finalize();
}

// The handler is registered before Unisono's adapter is loaded, so it runs after whatever that registers.
static void run_at_exit(void) {
  atexit(finalize_at_exit);
  begin();
  check_sum(MPI_COMM_WORLD);
}

static int handled = 0;

static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

static void print_class(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) {
    printf("%s: %s, handler called %d times\n", what,
           class == MPI_ERR_ROOT    ? "MPI_ERR_ROOT"
           : class == MPI_ERR_COUNT ? "MPI_ERR_COUNT"
           : class == MPI_ERR_TYPE  ? "MPI_ERR_TYPE"
           : class == MPI_ERR_OP    ? "MPI_ERR_OP"
           : class == MPI_SUCCESS   ? "no error"
                                    : "another error",
           handled);
  }
  handled = 0;
}

// Invalid arguments, on all ranks alike, with the program's own error handler.
static void run_errors(void) {
  begin();
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int in = 1;
  int out[64];
  print_class("root", MPI_Bcast(&in, 1, MPI_INT, size, MPI_COMM_WORLD));
  print_class("count", MPI_Bcast(&in, -1, MPI_INT, 0, MPI_COMM_WORLD));
  print_class("type", MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  print_class("op", MPI_Allreduce(&in, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
  print_class("valid", MPI_Allreduce(&in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  MPI_Errhandler_free(&handler);
  end();
}

// MPI-IO: the host calls its own collectives by name.
static void run_files(const char* path) {
  begin();
  MPI_File file;
  int values[2] = {rank, -rank};
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof values * rank, values, 2, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  const int other = (rank + 1) % size;
  MPI_File_read_at_all(file, (MPI_Offset)sizeof values * other, values, 2, MPI_INT, MPI_STATUS_IGNORE);
  if (values[0] != other || values[1] != -other) die("wrong data in the file");
  MPI_File_close(&file);
  end();
}

// The large-count functions found by name, as mpi4py finds them; also where the MPI below has none.
static void run_large(void) {
  int (*bcast)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm) =
      (int (*)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm))dlsym(RTLD_DEFAULT, "MPI_Bcast_c");
  int (*gather)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm) =
      (int (*)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm))dlsym(
          RTLD_DEFAULT, "MPI_Gather_c");
  if (bcast == NULL || gather == NULL) die("no large-count functions");
  begin();
  for (int is_enabled = 0; is_enabled < 2; ++is_enabled) {
    unisono_set_enabled(is_enabled);
    for (int root = 0; root < size; ++root) {
      long long value = rank == root ? 1000 + root : 0;
      long long all[64] = {0};
      bcast(&value, 1, MPI_LONG_LONG, root, MPI_COMM_WORLD);
      if (value != 1000 + root) die("wrong MPI_Bcast_c");
      value += rank;
      // Off the root the receive arguments mean nothing.
      const MPI_Count count = rank == root ? 1 : ((MPI_Count)1 << 40);
      gather(&value, 1, MPI_LONG_LONG, all, count, rank == root ? MPI_LONG_LONG : MPI_DATATYPE_NULL, root,
             MPI_COMM_WORLD);
      for (int i = 0; rank == root && i < size; ++i) {
        if (all[i] != 1000 + root + i) die("wrong MPI_Gather_c");
      }
    }
  }
  end();
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "switch") == 0) {
    run_switch();
  } else if (strcmp(mode, "unseen") == 0) {
    run_unseen();
  } else if (strcmp(mode, "at_exit") == 0) {
    run_at_exit();
  } else if (strcmp(mode, "errors") == 0) {
    run_errors();
  } else if (strcmp(mode, "files") == 0 && argc == 3) {
    run_files(argv[2]);
  } else if (strcmp(mode, "large") == 0) {
    run_large();
  } else {
    fprintf(stderr, "entry: unknown mode\n");
    return 2;
  }
  return 0;
}
