// SPDX-License-Identifier: BSD-3-Clause
// Times of collectives with all buffers in the memory of a GPU (gpu_memory.inc; the first word is the
// library). Prints a line for each, as "allreduce 65536 123.4": bytes that a rank sends in all, and
// microseconds, which are the median over calls of the slowest rank's time.
#include <mpi.h>

#include "gpu_memory.inc"

enum { most_calls = 200, warm_up_calls = 30 };
static const char* const names[] = {"allreduce", "alltoall", "neighbor_alltoall"};

static int rank, size;
static MPI_Comm ring;

static void call(int operation, void* in, void* out, int bytes) {
  const int floats = bytes / (int)sizeof(float);
  if (operation == 0) MPI_Allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (operation == 1)
    MPI_Alltoall(in, floats / size, MPI_FLOAT, out, floats / size, MPI_FLOAT, MPI_COMM_WORLD);
  if (operation == 2) MPI_Neighbor_alltoall(in, floats / 2, MPI_FLOAT, out, floats / 2, MPI_FLOAT, ring);
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static void measure(int operation, void* in, void* out, int bytes) {
  static double times[most_calls];
  const int calls = bytes > 1 << 20 ? 20 : bytes > 1 << 17 ? 60 : most_calls;
  for (int i = -warm_up_calls; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = MPI_Wtime();
    call(operation, in, out, bytes);
    if (i >= 0) times[i] = MPI_Wtime() - before;
  }
  MPI_Allreduce(MPI_IN_PLACE, times, calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(times, (size_t)calls, sizeof *times, compare);
  if (rank == 0) printf("%s %d %.1f\n", names[operation], bytes, times[calls / 2] * 1e6);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  load_gpu(argv[1]);
  enum { most_bytes = 16 << 20 };
  char *in = allocate_of(of_gpu, most_bytes), *out = allocate_of(of_gpu, most_bytes);
  float* values = malloc(most_bytes);
  for (size_t i = 0; i < most_bytes / sizeof(float); ++i) values[i] = (float)(i % 1000) + (float)rank;
  put(in, of_gpu, values, most_bytes);
  MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){size}, (int[]){1}, 0, &ring);
  for (int operation = 0; operation < 3; ++operation) {
    for (int bytes = 64 << 10; bytes <= most_bytes; bytes *= 4) measure(operation, in, out, bytes);
  }
  // The last values must be there: nobody has measured nothing.
  call(0, in, out, most_bytes);
  get(out, of_gpu, values, most_bytes);
  int failures = 0;
  for (size_t i = 0; i < most_bytes / sizeof(float); ++i)
    failures += values[i] != (float)(size * (int)(i % 1000) + size * (size - 1) / 2);
  if (failures != 0) printf("rank %d: %d values are wrong\n", rank, failures);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return failures != 0;
}
