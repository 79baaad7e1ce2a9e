// SPDX-License-Identifier: BSD-3-Clause
// A library to be preloaded before whatever serves collectives: checks results for programs that do not.
//
// Behind each collective of the program it makes the same call twice more, once as the program does and once
// straight from the MPI library. Counts, datatype, operator, root and communicator are the same, but the data
// are its own, and tell ranks, calls and places apart. Both calls must deliver the same, and leave alone the
// same. The sums are of small whole numbers, which are exact in any order. MPI_Finalize prints, on rank 0,
// "shadow OPERATION: N calls, M differ" for each operation. For predefined datatypes and one thread.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum Operation {
  allgather,
  allgatherv,
  allreduce,
  alltoall,
  alltoallv,
  bcast,
  gather,
  gatherv,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  scatter,
  scatterv,
  operation_count
};

static const char* const names[operation_count] = {"MPI_Allgather",
                                                   "MPI_Allgatherv",
                                                   "MPI_Allreduce",
                                                   "MPI_Alltoall",
                                                   "MPI_Alltoallv",
                                                   "MPI_Bcast",
                                                   "MPI_Gather",
                                                   "MPI_Gatherv",
                                                   "MPI_Reduce",
                                                   "MPI_Reduce_scatter",
                                                   "MPI_Reduce_scatter_block",
                                                   "MPI_Scatter",
                                                   "MPI_Scatterv"};

static long long calls[operation_count], differing[operation_count];
static unsigned serial;

static void* found(void* where, const char* name) {
  void* address = dlsym(where, name);
  if (address == NULL) {
    fprintf(stderr, "shadow: no %s\n", name);
    abort();
  }
  return address;
}

// The MPI library itself: what is found through its handle has passed no preloaded library.
static void* host(const char* name) {
  static void* library = NULL;
  const char* const sonames[] = {"libmpi.so.12", "libmpi.so.40", "libmpich.so.12"};
  for (int i = 0; library == NULL && i < 3; ++i) library = dlopen(sonames[i], RTLD_NOLOAD | RTLD_LAZY);
  if (library == NULL) {
    fprintf(stderr, "shadow: no MPI library\n");
    abort();
  }
  return found(library, name);
}

// NEXT: as the program would have called. HOST: the MPI's own.
#define NEXT(function) ((__typeof__(&function))found(RTLD_NEXT, #function))
#define HOST(function) ((__typeof__(&function))host("P" #function))

// What both calls work on: the same input, and an output each, with a guard behind it.
typedef struct {
  char *input, *output[2];
  size_t input_bytes, output_bytes;
} Buffers;

enum { guard_bytes = 64 };

static int size_of(MPI_Comm comm) {
  int size;
  HOST(MPI_Comm_size)(comm, &size);
  return size;
}

static int rank_in(MPI_Comm comm) {
  int rank;
  HOST(MPI_Comm_rank)(comm, &rank);
  return rank;
}

static size_t bytes_of(MPI_Datatype type) {
  int bytes;
  HOST(MPI_Type_size)(type, &bytes);
  return (size_t)bytes;
}

static unsigned value_at(unsigned rank, size_t i) {
  unsigned value = serial * 2654435761u + rank * 40503u + (unsigned)i * 69069u + 12345u;
  return value >> 16;
}

static void fill(char* buffer, size_t bytes, MPI_Datatype type, int rank) {
  for (size_t i = 0; i < bytes; ++i) buffer[i] = (char)value_at((unsigned)rank, i);
  // Numbers that may be summed without rounding, and without NaN among them.
  if (type == MPI_FLOAT) {
    for (size_t i = 0; i < bytes / sizeof(float); ++i) {
      ((float*)(void*)buffer)[i] = (float)(value_at((unsigned)rank, i) % 1000u);
    }
  } else if (type == MPI_DOUBLE) {
    for (size_t i = 0; i < bytes / sizeof(double); ++i) {
      ((double*)(void*)buffer)[i] = value_at((unsigned)rank, i) % 1000u;
    }
  }
}

static Buffers make(size_t input_bytes, size_t output_bytes, MPI_Datatype type, MPI_Comm comm) {
  const int rank = rank_in(comm);
  Buffers made = {NULL, {NULL, NULL}, input_bytes, output_bytes};
  made.input = malloc(input_bytes + guard_bytes);
  fill(made.input, input_bytes, type, rank);
  for (int i = 0; i < 2; ++i) {
    made.output[i] = malloc(output_bytes + guard_bytes);
    memset(made.output[i], 0x5a, output_bytes + guard_bytes);
  }
  return made;
}

static void judge(enum Operation operation, Buffers* buffers, MPI_Comm comm) {
  const size_t bytes = buffers->output_bytes + guard_bytes;
  ++calls[operation];
  ++serial;
  if (memcmp(buffers->output[0], buffers->output[1], bytes) != 0) {
    size_t at = 0;
    while (buffers->output[0][at] == buffers->output[1][at]) ++at;
    if (differing[operation]++ == 0) {
      fprintf(stderr, "shadow: rank %d of %d: %s differs first at byte %zu of %zu\n", rank_in(comm),
              size_of(comm), names[operation], at, buffers->output_bytes);
    }
  }
  free(buffers->input);
  free(buffers->output[0]);
  free(buffers->output[1]);
}

// How many elements counts and displacements span.
static size_t span(const int* counts, const int* displacements, int size) {
  size_t end = 0;
  for (int i = 0; i < size; ++i) {
    const size_t here = (size_t)displacements[i] + (size_t)counts[i];
    if (counts[i] > 0 && here > end) end = here;
  }
  return end;
}

static size_t sum(const int* counts, int size) {
  size_t total = 0;
  for (int i = 0; i < size; ++i) total += (size_t)counts[i];
  return total;
}

// TWICE(call): the call by NEXT into output 0 and by HOST into output 1, then the verdict. `out` stands for
// the output.
#define TWICE(operation, function, ...) \
  do {                                  \
    char* out = buffers.output[0];      \
    NEXT(function)(__VA_ARGS__);        \
    out = buffers.output[1];            \
    HOST(function)(__VA_ARGS__);        \
    judge(operation, &buffers, comm);   \
  } while (0)

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = NEXT(MPI_Bcast)(buffer, count, type, root, comm);
  const size_t bytes = (size_t)count * bytes_of(type);
  Buffers buffers = make(bytes, bytes, type, comm);
  if (rank_in(comm) == root) {
    memcpy(buffers.output[0], buffers.input, bytes);
    memcpy(buffers.output[1], buffers.input, bytes);
  }
  TWICE(bcast, MPI_Bcast, out, count, type, root, comm);
  return result;
}

int MPI_Allreduce(const void* in, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int result = NEXT(MPI_Allreduce)(in, to, count, type, op, comm);
  const size_t bytes = (size_t)count * bytes_of(type);
  Buffers buffers = make(bytes, bytes, type, comm);
  TWICE(allreduce, MPI_Allreduce, buffers.input, out, count, type, op, comm);
  return result;
}

int MPI_Reduce(const void* in, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const int result = NEXT(MPI_Reduce)(in, to, count, type, op, root, comm);
  const size_t bytes = (size_t)count * bytes_of(type);
  Buffers buffers = make(bytes, rank_in(comm) == root ? bytes : 0, type, comm);
  TWICE(reduce, MPI_Reduce, buffers.input, out, count, type, op, root, comm);
  return result;
}

int MPI_Reduce_scatter(const void* in, void* to, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  const int result = NEXT(MPI_Reduce_scatter)(in, to, counts, type, op, comm);
  const size_t all = sum(counts, size_of(comm)) * bytes_of(type);
  Buffers buffers = make(all, (size_t)counts[rank_in(comm)] * bytes_of(type), type, comm);
  TWICE(reduce_scatter, MPI_Reduce_scatter, buffers.input, out, counts, type, op, comm);
  return result;
}

int MPI_Reduce_scatter_block(const void* in, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  const int result = NEXT(MPI_Reduce_scatter_block)(in, to, count, type, op, comm);
  const size_t bytes = (size_t)count * bytes_of(type);
  Buffers buffers = make(bytes * (size_t)size_of(comm), bytes, type, comm);
  TWICE(reduce_scatter_block, MPI_Reduce_scatter_block, buffers.input, out, count, type, op, comm);
  return result;
}

// The operations on blocks: IMB's and most programs' two datatypes are the same, and the wrappers rely on it.
int MPI_Allgather(const void* in, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm) {
  const int result = NEXT(MPI_Allgather)(in, count, type, to, to_count, to_type, comm);
  const size_t bytes = (size_t)to_count * bytes_of(to_type);
  Buffers buffers = make(bytes, bytes * (size_t)size_of(comm), to_type, comm);
  TWICE(allgather, MPI_Allgather, buffers.input, to_count, to_type, out, to_count, to_type, comm);
  return result;
}

int MPI_Allgatherv(const void* in, int count, MPI_Datatype type, void* to, const int counts[],
                   const int displacements[], MPI_Datatype to_type, MPI_Comm comm) {
  const int result = NEXT(MPI_Allgatherv)(in, count, type, to, counts, displacements, to_type, comm);
  const size_t bytes = (size_t)counts[rank_in(comm)] * bytes_of(to_type);
  Buffers buffers =
      make(bytes, span(counts, displacements, size_of(comm)) * bytes_of(to_type), to_type, comm);
  TWICE(allgatherv, MPI_Allgatherv, buffers.input, counts[rank_in(comm)], to_type, out, counts, displacements,
        to_type, comm);
  return result;
}

int MPI_Alltoall(const void* in, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
                 MPI_Comm comm) {
  const int result = NEXT(MPI_Alltoall)(in, count, type, to, to_count, to_type, comm);
  const size_t bytes = (size_t)to_count * bytes_of(to_type) * (size_t)size_of(comm);
  Buffers buffers = make(bytes, bytes, to_type, comm);
  TWICE(alltoall, MPI_Alltoall, buffers.input, to_count, to_type, out, to_count, to_type, comm);
  return result;
}

int MPI_Alltoallv(const void* in, const int counts[], const int displacements[], MPI_Datatype type, void* to,
                  const int to_counts[], const int to_displacements[], MPI_Datatype to_type, MPI_Comm comm) {
  const int result =
      NEXT(MPI_Alltoallv)(in, counts, displacements, type, to, to_counts, to_displacements, to_type, comm);
  const int size = size_of(comm);
  Buffers buffers = make(span(counts, displacements, size) * bytes_of(type),
                         span(to_counts, to_displacements, size) * bytes_of(to_type), type, comm);
  TWICE(alltoallv, MPI_Alltoallv, buffers.input, counts, displacements, type, out, to_counts,
        to_displacements, to_type, comm);
  return result;
}

int MPI_Gather(const void* in, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
               int root, MPI_Comm comm) {
  const int result = NEXT(MPI_Gather)(in, count, type, to, to_count, to_type, root, comm);
  const size_t bytes = (size_t)count * bytes_of(type);
  Buffers buffers = make(bytes, rank_in(comm) == root ? bytes * (size_t)size_of(comm) : 0, type, comm);
  TWICE(gather, MPI_Gather, buffers.input, count, type, out, count, type, root, comm);
  return result;
}

int MPI_Gatherv(const void* in, int count, MPI_Datatype type, void* to, const int counts[],
                const int displacements[], MPI_Datatype to_type, int root, MPI_Comm comm) {
  const int result = NEXT(MPI_Gatherv)(in, count, type, to, counts, displacements, to_type, root, comm);
  const size_t all = rank_in(comm) == root ? span(counts, displacements, size_of(comm)) * bytes_of(type) : 0;
  Buffers buffers = make((size_t)count * bytes_of(type), all, type, comm);
  TWICE(gatherv, MPI_Gatherv, buffers.input, count, type, out, counts, displacements, type, root, comm);
  return result;
}

int MPI_Scatter(const void* in, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
                int root, MPI_Comm comm) {
  const int result = NEXT(MPI_Scatter)(in, count, type, to, to_count, to_type, root, comm);
  const size_t bytes = (size_t)to_count * bytes_of(to_type);
  Buffers buffers = make(bytes * (size_t)size_of(comm), bytes, to_type, comm);
  TWICE(scatter, MPI_Scatter, buffers.input, to_count, to_type, out, to_count, to_type, root, comm);
  return result;
}

int MPI_Scatterv(const void* in, const int counts[], const int displacements[], MPI_Datatype type, void* to,
                 int to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {
  const int result = NEXT(MPI_Scatterv)(in, counts, displacements, type, to, to_count, to_type, root, comm);
  const size_t all =
      rank_in(comm) == root ? span(counts, displacements, size_of(comm)) * bytes_of(to_type) : 0;
  Buffers buffers = make(all, (size_t)to_count * bytes_of(to_type), to_type, comm);
  TWICE(scatterv, MPI_Scatterv, buffers.input, counts, displacements, to_type, out, to_count, to_type, root,
        comm);
  return result;
}

int MPI_Finalize(void) {
  long long all_calls[operation_count], all_differing[operation_count];
  HOST(MPI_Allreduce)(calls, all_calls, operation_count, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  HOST(MPI_Allreduce)(differing, all_differing, operation_count, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) {
    for (int i = 0; i < operation_count; ++i) {
      if (all_calls[i] > 0) {
        printf("shadow %s: %lld calls, %lld differ\n", names[i], all_calls[i], all_differing[i]);
      }
    }
    fflush(stdout);
  }
  return NEXT(MPI_Finalize)();
}
