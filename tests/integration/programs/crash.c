// SPDX-License-Identifier: BSD-3-Clause
// Dies, or seems to, as the first word says:
//   healthy, healthy_start    does not, in a collective that blocks or not
//   call, start               in a collective, whose result on the last rank has no memory behind it
//   program, abort            by itself, outside of all collectives
//   operator                  in an operator of its own, inside a collective
//   before, after             as `call`, with a handler of its own from before MPI_Init, or from after it
//   answered                  in no way: a handler from before MPI_Init gives the result its memory
// A second word is the number of elements.
#include <mpi.h>
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
  if (is(mode, "start") || is(mode, "healthy_start")) {
    MPI_Request request;
    MPI_Iallreduce(values, result, elements, MPI_INT, op, MPI_COMM_WORLD, &request);
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
  const int has_memory = !is_last || strncmp(mode, "healthy", 7) == 0 || is(mode, "operator");
  result_bytes = (size_t)elements * sizeof(int);
  result = mmap(NULL, result_bytes, has_memory ? PROT_READ | PROT_WRITE : PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int* values = malloc(result_bytes);
  for (int i = 0; i < elements; ++i) values[i] = rank + 1;
  if (is_last && is(mode, "program")) touch_nothing();
  if (is_last && is(mode, "abort")) abort();
  add_up(mode, values, elements);
  const int sum = ((int*)result)[elements - 1];
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_last) write_line(sum == size * (size + 1) / 2 ? "RIGHT\n" : "WRONG\n");
  free(values);
  MPI_Finalize();
  return 0;
}
