// SPDX-License-Identifier: BSD-3-Clause
// A program that finds our MPI_Allreduce_c believes that it may call it (mpi4py does). Where the host MPI has
// none and no adapter is there to emulate it, the call goes to the small-count function as long as its counts
// fit. Handles are passed on as registers hold them, whatever their type.
#include <limits.h>
#include <stdint.h>

#include "preload/resolve.h"

typedef uintptr_t Word;  // a pointer, handle or int, as wide as its register or stack slot
typedef int64_t Count;

#define CALLER __builtin_return_address(0)

// A count that does not fit becomes an invalid one, so that the host MPI's error handler speaks where it is
// significant.
static int narrow(Count count) {
  return count < 0 || count > INT_MAX ? -1 : (int)count;
}

// The small-count function; what a program calls it has linked, so a null result is an error there as well.
static UnisonoFunction small_count(int slot, const void* caller, const char* name) {
  UnisonoFunction function = unisono_host_function(slot, caller);
  if (function == (UnisonoFunction)0)
    unisono_no_function(name, "the MPI in this process has no such function");
  return function;
}

static int narrow_Bcast_c(Word buffer, Count count, Word type, Word root, Word comm) {
  int (*bcast)(Word, int, Word, Word, Word) =
      (int (*)(Word, int, Word, Word, Word))small_count(unisono_slot_Bcast, CALLER, "MPI_Bcast_c");
  return bcast(buffer, narrow(count), type, root, comm);
}

static int narrow_Reduce_c(Word in, Word out, Count count, Word type, Word op, Word root, Word comm) {
  int (*reduce)(Word, Word, int, Word, Word, Word, Word) = (int (*)(
      Word, Word, int, Word, Word, Word, Word))small_count(unisono_slot_Reduce, CALLER, "MPI_Reduce_c");
  return reduce(in, out, narrow(count), type, op, root, comm);
}

#define NARROW_REDUCTION(name)                                                                          \
  static int narrow_##name##_c(Word in, Word out, Count count, Word type, Word op, Word comm) {         \
    int (*function)(Word, Word, int, Word, Word, Word) = (int (*)(                                      \
        Word, Word, int, Word, Word, Word))small_count(unisono_slot_##name, CALLER, "MPI_" #name "_c"); \
    return function(in, out, narrow(count), type, op, comm);                                            \
  }
NARROW_REDUCTION(Allreduce)
NARROW_REDUCTION(Reduce_scatter_block)
NARROW_REDUCTION(Scan)
NARROW_REDUCTION(Exscan)

#define NARROW_ROOTED(name)                                                                             \
  static int narrow_##name##_c(Word in, Count in_count, Word in_type, Word out, Count out_count,        \
                               Word out_type, Word root, Word comm) {                                   \
    int (*function)(Word, int, Word, Word, int, Word, Word, Word) =                                     \
        (int (*)(Word, int, Word, Word, int, Word, Word, Word))small_count(unisono_slot_##name, CALLER, \
                                                                           "MPI_" #name "_c");          \
    return function(in, narrow(in_count), in_type, out, narrow(out_count), out_type, root, comm);       \
  }
NARROW_ROOTED(Gather)
NARROW_ROOTED(Scatter)

#define NARROW_ALL(name)                                                                                     \
  static int narrow_##name##_c(Word in, Count in_count, Word in_type, Word out, Count out_count,             \
                               Word out_type, Word comm) {                                                   \
    int (*function)(Word, int, Word, Word, int, Word, Word) = (int (*)(                                      \
        Word, int, Word, Word, int, Word, Word))small_count(unisono_slot_##name, CALLER, "MPI_" #name "_c"); \
    return function(in, narrow(in_count), in_type, out, narrow(out_count), out_type, comm);                  \
  }
NARROW_ALL(Allgather)
NARROW_ALL(Alltoall)
NARROW_ALL(Neighbor_allgather)
NARROW_ALL(Neighbor_alltoall)

// --- Calls that do not block: the same with a request ---

static int narrow_Ibcast_c(Word buffer, Count count, Word type, Word root, Word comm, Word request) {
  int (*ibcast)(Word, int, Word, Word, Word, Word) =
      (int (*)(Word, int, Word, Word, Word, Word))small_count(unisono_slot_Ibcast, CALLER, "MPI_Ibcast_c");
  return ibcast(buffer, narrow(count), type, root, comm, request);
}

static int narrow_Ireduce_c(Word in, Word out, Count count, Word type, Word op, Word root, Word comm,
                            Word request) {
  int (*ireduce)(Word, Word, int, Word, Word, Word, Word, Word) =
      (int (*)(Word, Word, int, Word, Word, Word, Word, Word))small_count(unisono_slot_Ireduce, CALLER,
                                                                          "MPI_Ireduce_c");
  return ireduce(in, out, narrow(count), type, op, root, comm, request);
}

#define NARROW_IREDUCTION(name)                                                                    \
  static int narrow_##name##_c(Word in, Word out, Count count, Word type, Word op, Word comm,      \
                               Word request) {                                                     \
    int (*function)(Word, Word, int, Word, Word, Word, Word) =                                     \
        (int (*)(Word, Word, int, Word, Word, Word, Word))small_count(unisono_slot_##name, CALLER, \
                                                                      "MPI_" #name "_c");          \
    return function(in, out, narrow(count), type, op, comm, request);                              \
  }
NARROW_IREDUCTION(Iallreduce)
NARROW_IREDUCTION(Ireduce_scatter_block)
NARROW_IREDUCTION(Iscan)
NARROW_IREDUCTION(Iexscan)

#define NARROW_IBLOCKS(name)                                                                            \
  static int narrow_##name##_c(Word in, Count in_count, Word in_type, Word out, Count out_count,        \
                               Word out_type, Word comm, Word request) {                                \
    int (*function)(Word, int, Word, Word, int, Word, Word, Word) =                                     \
        (int (*)(Word, int, Word, Word, int, Word, Word, Word))small_count(unisono_slot_##name, CALLER, \
                                                                           "MPI_" #name "_c");          \
    return function(in, narrow(in_count), in_type, out, narrow(out_count), out_type, comm, request);    \
  }
NARROW_IBLOCKS(Iallgather)
NARROW_IBLOCKS(Ialltoall)
NARROW_IBLOCKS(Ineighbor_allgather)
NARROW_IBLOCKS(Ineighbor_alltoall)

#define NARROW_IROOTED(name)                                                                                 \
  static int narrow_##name##_c(Word in, Count in_count, Word in_type, Word out, Count out_count,             \
                               Word out_type, Word root, Word comm, Word request) {                          \
    int (*function)(Word, int, Word, Word, int, Word, Word, Word, Word) =                                    \
        (int (*)(Word, int, Word, Word, int, Word, Word, Word, Word))small_count(unisono_slot_##name,        \
                                                                                 CALLER, "MPI_" #name "_c"); \
    return function(in, narrow(in_count), in_type, out, narrow(out_count), out_type, root, comm, request);   \
  }
NARROW_IROOTED(Igather)
NARROW_IROOTED(Iscatter)

UnisonoFunction unisono_narrowing(int slot) {
  switch (slot) {
#define NARROWING(name)         \
  case unisono_slot_##name##_c: \
    return (UnisonoFunction)narrow_##name##_c;
    NARROWING(Bcast)
    NARROWING(Reduce)
    NARROWING(Allreduce)
    NARROWING(Gather)
    NARROWING(Scatter)
    NARROWING(Allgather)
    NARROWING(Alltoall)
    NARROWING(Reduce_scatter_block)
    NARROWING(Scan)
    NARROWING(Exscan)
    NARROWING(Ibcast)
    NARROWING(Ireduce)
    NARROWING(Iallreduce)
    NARROWING(Igather)
    NARROWING(Iscatter)
    NARROWING(Iallgather)
    NARROWING(Ialltoall)
    NARROWING(Ireduce_scatter_block)
    NARROWING(Iscan)
    NARROWING(Iexscan)
    NARROWING(Neighbor_allgather)
    NARROWING(Neighbor_alltoall)
    NARROWING(Ineighbor_allgather)
    NARROWING(Ineighbor_alltoall)
#undef NARROWING
    default:
      return unisono_narrowing_of_blocks(slot);
  }
}
