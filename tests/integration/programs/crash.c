// SPDX-License-Identifier: BSD-3-Clause
// Dies, or seems to, as the first word says:
//     healthy, healthy_start    does not, in a collective that blocks or not
//     call                      in a collective, in which another thread ends it
//     start                     in a collective that does not block: what Unisono shares with others is
//                               taken away
//     unmapped, unmapped_start  in a collective, whose result on the last rank has no memory behind it
//     short                     so as well: behind the first part of the result
//     truncated                 so as well: the file behind the result is shorter
//     far                       so as well: the result is at no address at all
//     uneven                    as `unmapped`, in an operation on uneven blocks, the second time
//     program, abort            by itself, outside of all collectives
//     operator                  in an operator of its own, inside a collective
//     before, after             as `call`, with a handler of its own from before MPI_Init, or from after it
//     derived                   as `unmapped`, in unpacking a datatype with gaps
//     answered                  as `unmapped`, in no way: a handler from before MPI_Init gives the result its
//                               memory
// A second word is the number of elements.
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char* result;
static size_t result_bytes;

static void write_line(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(99);
}

static void give_up(int number) {
  write_line("HANDLED\n");
  signal(number, SIG_DFL);
  raise(number);
}

static void answer(int number) {
  (void)number;
  if (mprotect(result, result_bytes, PROT_READ | PROT_WRITE) != 0) _exit(98);
}

static pthread_t main_thread;

static void* end_it(void* nothing) {
  usleep(200000);
  pthread_kill(main_thread, SIGSEGV);
  return nothing;
}

// Whoever has the address finds no memory there.
static void take_away_shared(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    if (strstr(line, "memfd:unisono") == NULL || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    if (mprotect((void*)begin, end - begin, PROT_NONE) != 0) _exit(97);
  }
  if (maps != NULL) fclose(maps);
}

// Memory for `bytes`, as far as the mode lets it be.
static void* memory_for(const char* mode, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (strcmp(mode, "far") == 0) return (void*)0x7fff800000001000ul;
  if (strcmp(mode, "truncated") == 0) {
    const int file = memfd_create("result", 0);
    if (file < 0 || ftruncate(file, (off_t)page) != 0) _exit(96);
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  char* memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (strcmp(mode, "short") == 0 && mprotect(memory, page, PROT_READ | PROT_WRITE) != 0) _exit(95);
  return memory;
}

static void touch_nothing(void) {
  volatile char* nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *nowhere = 1;
}

static void die_as_operator(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
  touch_nothing();
}

static int is(const char* mode, const char* word) {
  return strcmp(mode, word) == 0;
}

static void add_up(const char* mode, const int* values, int elements) {
  MPI_Op op = MPI_SUM;
  if (is(mode, "operator")) MPI_Op_create(die_as_operator, 1, &op);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is(mode, "derived")) {
    MPI_Datatype odd;
    MPI_Type_vector(elements / 2, 1, 2, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_Bcast(result, 1, odd, 0, MPI_COMM_WORLD);
    MPI_Type_free(&odd);
  } else if (is(mode, "uneven")) {
    int counts[64], places[64];
    for (int i = 0; i < size; ++i) {
      counts[i] = elements / size - i % 2;
      places[i] = i * (elements / size);
    }
    int* good = malloc(result_bytes);
    MPI_Allgatherv(values, counts[rank], MPI_INT, good, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(values, counts[rank], MPI_INT, result, counts, places, MPI_INT, MPI_COMM_WORLD);
  } else if (is(mode, "start") || is(mode, "healthy_start") || is(mode, "unmapped_start")) {
    MPI_Request request;
    MPI_Iallreduce(values, result, elements, MPI_INT, op, MPI_COMM_WORLD, &request);
    if (is(mode, "start") && rank + 1 == size) take_away_shared();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Allreduce(values, result, elements, MPI_INT, op, MPI_COMM_WORLD);
  }
}

int main(int argument_count, char** arguments) {
  const char* mode = argument_count > 1 ? arguments[1] : "healthy";
  const int elements = argument_count > 2 ? atoi(arguments[2]) : 1 << 16;
  int rank, size;
  if (is(mode, "before")) signal(SIGSEGV, give_up);
  if (is(mode, "answered")) signal(SIGSEGV, answer);
  MPI_Init(&argument_count, &arguments);
  if (is(mode, "after")) signal(SIGSEGV, give_up);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_last = rank + 1 == size;
  const char* const without[] = {"unmapped", "unmapped_start", "short",   "truncated",
                                 "far",      "uneven",         "derived", "answered"};
  int has_memory = 1;
  for (size_t i = 0; i < sizeof without / sizeof *without; ++i)
    has_memory &= !is_last || !is(mode, without[i]);
  result_bytes = (size_t)elements * sizeof(int);
  result = has_memory ? calloc(result_bytes, 1) : memory_for(mode, result_bytes);
  int* values = malloc(result_bytes);
  for (int i = 0; i < elements; ++i) values[i] = rank + 1;
  if (is_last && is(mode, "program")) touch_nothing();
  if (is_last && is(mode, "abort")) abort();
  const int is_ended = is(mode, "call") || is(mode, "before") || is(mode, "after");
  pthread_t ending;
  main_thread = pthread_self();
  if (is_ended && is_last && pthread_create(&ending, NULL, end_it, NULL) != 0) return 94;
  if (is_ended && rank == 0) usleep(500000);
  add_up(mode, values, elements);
  const int sum = ((int*)result)[elements - 1];
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_last) write_line(sum == size * (size + 1) / 2 ? "RIGHT\n" : "WRONG\n");
  free(values);
  MPI_Finalize();
  return 0;
}
