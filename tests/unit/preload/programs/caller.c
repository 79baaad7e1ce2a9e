// SPDX-License-Identifier: BSD-3-Clause
// A program for the preloaded library to be put under: does what its arguments say, one after the other. It
// is linked with no MPI. What it calls it finds as a program that was linked would, in the global scope.
//     load PATH          opens a library into the global scope (as if linked)
//     plugin PATH NAME   opens a library for itself alone and calls a function of it with 7
//     chdir PATH         goes to another directory
//     hold PATH          opens a library for itself alone
//     barrier            MPI_Barrier(5); pbarrier: PMPI_Barrier(6)
//     registers          MPI_Allreduce with a number in each argument register
//     variadic           MPI_Init with eight doubles
//     gather COUNT       MPI_Gather_c with this count
//     threads            eight threads call MPI_Barrier at once
//     active, enable N   the functions of unisono.h
//     maps               which libraries of Unisono are mapped
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unisono/unisono.h"

static void* find(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  if (function == NULL) {
    printf("no %s\n", name);
    exit(3);
  }
  return function;
}

static void* open_library(const char* path, int scope) {
  void* library = dlopen(path, RTLD_NOW | scope);
  if (library == NULL) {
    printf("%s\n", dlerror());
    exit(3);
  }
  return library;
}

static void call_barrier(const char* name, long comm) {
  ((int (*)(long))find(name))(comm);
}

static void call_plugin(const char* path, const char* name) {
  void (*function)(long) = dlsym(open_library(path, RTLD_LOCAL), name);
  function(7);
}

static void call_with_registers(void) {
  long (*function)(long, long, long, long, long, long, double, double, double, double, double, double, double,
                   double, long, double) = find("MPI_Allreduce");
  const long result = function(1, 2, 3, 4, 5, 6, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 7, 9.5);
  printf("result %ld\n", result);
}

static pthread_barrier_t start;

static void* call_in_thread(void* argument) {
  pthread_barrier_wait(&start);
  call_barrier("MPI_Barrier", (long)argument);
  return NULL;
}

static void call_in_threads(void) {
  enum { thread_count = 8 };
  pthread_t threads[thread_count];
  pthread_barrier_init(&start, NULL, thread_count);
  for (long i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, call_in_thread, (void*)i);
  for (long i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
}

static void print_maps(void) {
  char line[4096];
  char last[4096] = "";
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    const char* name = strstr(line, "libunisono");
    if (name == NULL || strcmp(name, last) == 0) continue;
    strcpy(last, name);
    printf("mapped %s", name);
  }
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < argc; ++i) {
    const char* verb = argv[i];
    if (strcmp(verb, "load") == 0) {
      open_library(argv[++i], RTLD_GLOBAL);
    } else if (strcmp(verb, "plugin") == 0) {
      call_plugin(argv[i + 1], argv[i + 2]);
      i += 2;
    } else if (strcmp(verb, "chdir") == 0) {
      if (chdir(argv[++i]) != 0) return 3;
    } else if (strcmp(verb, "hold") == 0) {
      open_library(argv[++i], RTLD_LOCAL);
    } else if (strcmp(verb, "barrier") == 0) {
      call_barrier("MPI_Barrier", 5);
    } else if (strcmp(verb, "pbarrier") == 0) {
      call_barrier("PMPI_Barrier", 6);
    } else if (strcmp(verb, "registers") == 0) {
      call_with_registers();
    } else if (strcmp(verb, "variadic") == 0) {
      int (*function)(int, ...) = find("MPI_Init");
      function(8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0);
    } else if (strcmp(verb, "gather") == 0) {
      int (*function)(long, long, long, long, long, long, int, long) = find("MPI_Gather_c");
      const long count = atol(argv[++i]);
      function(1, count, 2, 3, count, 4, 0, 8);
    } else if (strcmp(verb, "threads") == 0) {
      call_in_threads();
    } else if (strcmp(verb, "active") == 0) {
      printf("active %d\n", unisono_is_active ? unisono_is_active() : -1);
    } else if (strcmp(verb, "enable") == 0) {
      printf("enabled before %d\n", unisono_set_enabled(atoi(argv[++i])));
    } else if (strcmp(verb, "maps") == 0) {
      print_maps();
    } else {
      printf("unknown verb %s\n", verb);
      return 2;
    }
  }
  return 0;
}
