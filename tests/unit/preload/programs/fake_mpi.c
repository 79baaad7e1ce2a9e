// SPDX-License-Identifier: BSD-3-Clause
// A library with an MPI's name and shape that tells what it was called with. FAKE_NAME says which of several
// it is; with FAKE_WITHOUT_LARGE_COUNTS it lacks the _c functions, as Open MPI does.
#include <stdarg.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
#define ALIAS(name) EXPORT __typeof__(PMPI_##name) MPI_##name __attribute__((alias("PMPI_" #name)));

// Numbers in all registers that may hold arguments, and on the stack.
EXPORT long PMPI_Allreduce(long a, long b, long c, long d, long e, long f, double s, double t, double u,
                           double v, double w, double x, double y, double z, long on_stack,
                           double on_stack_too) {
  printf("%s Allreduce %ld %ld %ld %ld %ld %ld %g %g %g %g %g %g %g %g %ld %g\n", FAKE_NAME, a, b, c, d, e, f,
         s, t, u, v, w, x, y, z, on_stack, on_stack_too);
  return 4711;
}
ALIAS(Allreduce)

// A variable argument list: how many vector registers are in use stands in a register as well.
static int is_initialized = 0;

EXPORT int PMPI_Initialized(int* flag) {
  *flag = is_initialized;
  return 0;
}

EXPORT int PMPI_Init(int count, ...) {
  is_initialized = 1;
  double sum = 0;
  va_list arguments;
  va_start(arguments, count);
  for (int i = 0; i < count; ++i) sum += va_arg(arguments, double);
  va_end(arguments);
  printf("%s Init %g\n", FAKE_NAME, sum);
  return 0;
}
ALIAS(Init)

EXPORT int PMPI_Barrier(long comm) {
  printf("%s Barrier %ld\n", FAKE_NAME, comm);
  return 0;
}
ALIAS(Barrier)

EXPORT int PMPI_Gather(long in, int in_count, long in_type, long out, int out_count, long out_type, int root,
                       long comm) {
  printf("%s Gather %ld %d %ld %ld %d %ld %d %ld\n", FAKE_NAME, in, in_count, in_type, out, out_count,
         out_type, root, comm);
  return 0;
}
ALIAS(Gather)

#ifndef FAKE_WITHOUT_LARGE_COUNTS
EXPORT int PMPI_Gather_c(long in, long in_count, long in_type, long out, long out_count, long out_type,
                         int root, long comm) {
  printf("%s Gather_c %ld %ld %ld %ld %ld %ld %d %ld\n", FAKE_NAME, in, in_count, in_type, out, out_count,
         out_type, root, comm);
  return 0;
}
ALIAS(Gather_c)
#endif
