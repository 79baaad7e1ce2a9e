// SPDX-License-Identifier: BSD-3-Clause
// How long blocks are, and where they lie.
#include "check.h"

// Rooted operations are in place at the root alone.
int is_in_place_here(const Call* call) {
  if (!call->trial->is_in_place || call->operation == bcast) return 0;
  switch (call->operation) {
    case reduce:
    case gather:
    case scatter:
    case gatherv:
    case scatterv:
      return call->rank == call->trial->root;
    default:
      return 1;
  }
}

static int is_uneven(const Call* call) {
  return call->operation >= allgatherv;
}

// Ints that go from one rank to another: in uneven operations none, once or twice the trial's.
static long length_of(const Call* call, int from, int to) {
  if (!is_uneven(call)) return call->trial->elements;
  if (call->operation == allgatherv || call->operation == gatherv) to = 0;
  if (call->operation == scatterv || call->operation == reduce_scatter) from = 0;
  // In place ranks give each other as much as they get.
  if (call->trial->is_in_place && from > to) {
    const int other = from;
    from = to;
    to = other;
  }
  return call->trial->elements * (long)(hash(call->trial->seed, (uint32_t)from, (uint32_t)to, 17) % 3);
}

// The blocks side by side, or with gaps between them, or from the last to the first.
static void place(const Call* call, Blocks* blocks) {
  const int has_displacements = is_uneven(call) && call->operation != reduce_scatter;
  const long gap = has_displacements && call->trial->seed % 2 == 0 ? common_multiple : 0;
  const int is_reversed = has_displacements && call->trial->seed % 3 == 0;
  blocks->elements = 0;
  for (int i = 0; i < blocks->count; ++i) {
    const int block = is_reversed ? blocks->count - 1 - i : i;
    blocks->starts[block] = blocks->elements;
    blocks->elements += blocks->lengths[block] + gap;
  }
}

Blocks sent_blocks(const Call* call) {
  Blocks blocks;
  const int is_root = call->rank == call->trial->root;
  blocks.count = 1;
  blocks.lengths[0] = length_of(call, call->rank, 0);
  switch (call->operation) {
    case scatter:
    case scatterv:
      blocks.count = is_root ? call->size : 0;
      break;
    case alltoall:
    case alltoallv:
    case alltoallw:
    case reduce_scatter_block:
    case reduce_scatter:
      blocks.count = call->size;
      break;
    default:
      break;
  }
  if (blocks.count != 1 || call->size == 1) {
    for (int to = 0; to < blocks.count; ++to) blocks.lengths[to] = length_of(call, call->rank, to);
  }
  place(call, &blocks);
  return blocks;
}

Blocks received_blocks(const Call* call) {
  Blocks blocks;
  const int is_root = call->rank == call->trial->root;
  blocks.count = 1;
  blocks.lengths[0] = length_of(call, call->trial->root, call->rank);
  switch (call->operation) {
    case reduce:
      blocks.count = is_root;
      break;
    case gather:
    case gatherv:
      blocks.count = is_root ? call->size : 0;
      break;
    case exscan:
      blocks.count = call->rank > 0 || call->trial->is_in_place;
      break;
    case allgather:
    case allgatherv:
    case alltoall:
    case alltoallv:
    case alltoallw:
      blocks.count = call->size;
      break;
    default:
      return (place(call, &blocks), blocks);
  }
  for (int from = 0; from < blocks.count; ++from) blocks.lengths[from] = length_of(call, from, call->rank);
  place(call, &blocks);
  return blocks;
}
