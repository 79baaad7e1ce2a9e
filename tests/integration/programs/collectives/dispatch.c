// SPDX-License-Identifier: BSD-3-Clause
// MPI's functions by operation. The operations on uneven blocks take their counts and displacements as
// arrays, in units of the datatype; alltoallw's displacements are bytes.
#include <stddef.h>

#include "check.h"

#define UNITS(argument, number) ((argument)->blocks->lengths[number] / (argument)->ints_per_unit)
#define PLACE(argument, number) ((argument)->blocks->starts[number] / (argument)->ints_per_unit)

#define DEFINE_ARRAYS(Name, Count, Displacement)                                        \
  typedef struct {                                                                      \
    Count counts[max_ranks];                                                            \
    Displacement displacements[max_ranks];                                              \
    MPI_Datatype types[max_ranks];                                                      \
  } Name;                                                                               \
  static Name fill_##Name(const Argument* argument, int is_in_bytes) {                  \
    Name arrays;                                                                        \
    for (int i = 0; i < argument->blocks->count; ++i) {                                 \
      const long at = PLACE(argument, i) * (is_in_bytes ? (long)argument->extent : 1L); \
      arrays.counts[i] = (Count)UNITS(argument, i);                                     \
      arrays.displacements[i] = (Displacement)at;                                       \
      arrays.types[i] = argument->type;                                                 \
    }                                                                                   \
    return arrays;                                                                      \
  }

DEFINE_ARRAYS(Arrays, int, int)
#if HAS_LARGE_COUNTS
DEFINE_ARRAYS(LargeArrays, MPI_Count, MPI_Aint)
#endif

// The functions with arrays. `X` makes MPI_X of a name, or MPI_X_c.
#define DISPATCH_UNEVEN(Name, Count, X)                                                                   \
  const Trial* t = call->trial;                                                                           \
  const int is_in_bytes = call->operation == alltoallw;                                                   \
  const Name in = fill_##Name(s, is_in_bytes), out = fill_##Name(r, is_in_bytes);                         \
  switch (call->operation) {                                                                              \
    case allgatherv:                                                                                      \
      return X(Allgatherv)(from, (Count)UNITS(s, 0), s->type, to, out.counts, out.displacements, r->type, \
                           t->comm);                                                                      \
    case reduce_scatter:                                                                                  \
      return X(Reduce_scatter)(from, to, in.counts, s->type, MPI_SUM, t->comm);                           \
    case alltoallv:                                                                                       \
      return X(Alltoallv)(from, in.counts, in.displacements, s->type, to, out.counts, out.displacements,  \
                          r->type, t->comm);                                                              \
    case gatherv:                                                                                         \
      return X(Gatherv)(from, (Count)UNITS(s, 0), s->type, to, out.counts, out.displacements, r->type,    \
                        t->root, t->comm);                                                                \
    case scatterv:                                                                                        \
      return X(Scatterv)(from, in.counts, in.displacements, s->type, to, (Count)UNITS(r, 0), r->type,     \
                         t->root, t->comm);                                                               \
    default:                                                                                              \
      return X(Alltoallw)(from, in.counts, in.displacements, in.types, to, out.counts, out.displacements, \
                          out.types, t->comm);                                                            \
  }

#define SMALL(name) MPI_##name
static int dispatch_uneven(const Call* call, const void* from, const Argument* s, void* to,
                           const Argument* r) {
  DISPATCH_UNEVEN(Arrays, int, SMALL)
}

#if HAS_LARGE_COUNTS
#define LARGE(name) MPI_##name##_c
static int dispatch_large_uneven(const Call* call, const void* from, const Argument* s, void* to,
                                 const Argument* r) {
  DISPATCH_UNEVEN(LargeArrays, MPI_Count, LARGE)
}

static int dispatch_large(const Call* call, const void* from, const Argument* s, void* to,
                          const Argument* r) {
  const Trial* t = call->trial;
  switch (call->operation) {
    case barrier:
      return MPI_Barrier(t->comm);
    case bcast:
      return MPI_Bcast_c(to, r->count, r->type, t->root, t->comm);
    case reduce:
      return MPI_Reduce_c(from, to, s->count, s->type, MPI_SUM, t->root, t->comm);
    case allreduce:
      return MPI_Allreduce_c(from, to, s->count, s->type, MPI_SUM, t->comm);
    case reduce_scatter_block:
      return MPI_Reduce_scatter_block_c(from, to, s->count, s->type, MPI_SUM, t->comm);
    case scan:
      return MPI_Scan_c(from, to, s->count, s->type, MPI_SUM, t->comm);
    case exscan:
      return MPI_Exscan_c(from, to, s->count, s->type, MPI_SUM, t->comm);
    case gather:
      return MPI_Gather_c(from, s->count, s->type, to, r->count, r->type, t->root, t->comm);
    case scatter:
      return MPI_Scatter_c(from, s->count, s->type, to, r->count, r->type, t->root, t->comm);
    case allgather:
      return MPI_Allgather_c(from, s->count, s->type, to, r->count, r->type, t->comm);
    case alltoall:
      return MPI_Alltoall_c(from, s->count, s->type, to, r->count, r->type, t->comm);
    default:
      return dispatch_large_uneven(call, from, s, to, r);
  }
}
#endif

int dispatch(const Call* call, const void* from, const Argument* s, void* to, const Argument* r) {
  const Trial* t = call->trial;
  const int sent = (int)s->count, received = (int)r->count;
#if HAS_LARGE_COUNTS
  if (t->is_large_count) return dispatch_large(call, from, s, to, r);
#endif
  switch (call->operation) {
    case barrier:
      return MPI_Barrier(t->comm);
    case bcast:
      return MPI_Bcast(to, received, r->type, t->root, t->comm);
    case reduce:
      return MPI_Reduce(from, to, sent, s->type, MPI_SUM, t->root, t->comm);
    case allreduce:
      return MPI_Allreduce(from, to, sent, s->type, MPI_SUM, t->comm);
    case reduce_scatter_block:
      return MPI_Reduce_scatter_block(from, to, sent, s->type, MPI_SUM, t->comm);
    case scan:
      return MPI_Scan(from, to, sent, s->type, MPI_SUM, t->comm);
    case exscan:
      return MPI_Exscan(from, to, sent, s->type, MPI_SUM, t->comm);
    case gather:
      return MPI_Gather(from, sent, s->type, to, received, r->type, t->root, t->comm);
    case scatter:
      return MPI_Scatter(from, sent, s->type, to, received, r->type, t->root, t->comm);
    case allgather:
      return MPI_Allgather(from, sent, s->type, to, received, r->type, t->comm);
    case alltoall:
      return MPI_Alltoall(from, sent, s->type, to, received, r->type, t->comm);
    default:
      return dispatch_uneven(call, from, s, to, r);
  }
}
