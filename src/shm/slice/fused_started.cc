// SPDX-License-Identifier: BSD-3-Clause
// Fused operations of calls that must not wait, in two parts: each rank writes its lines, and comes back for
// the others' until they are all there. What is written and read is the same as in those that wait.
#include <algorithm>

#include "base/short_copy.h"
#include "shm/slice/fused_rings.h"

namespace unisono::shm {
namespace {

const char* block_of(const void* blocks, int rank, std::size_t bytes) {
  return static_cast<const char*>(blocks) + static_cast<std::size_t>(rank) * bytes;
}

char* block_of(void* blocks, int rank, std::size_t bytes) {
  return static_cast<char*>(blocks) + static_cast<std::size_t>(rank) * bytes;
}

// Does everybody write blocks for all ranks, as one message? Among two ranks the only block that travels.
bool has_blocks_for_all(Operation operation) {
  return operation == Operation::alltoall || operation == Operation::scatter ||
         operation == Operation::reduce_scatter_block;
}

}  // namespace

std::size_t Slice::State::posted_bytes(const FusedCall& call) const {
  const bool is_of_many = has_blocks_for_all(call.operation) && size > 2;
  return is_of_many ? static_cast<std::size_t>(size) * call.bytes : call.bytes;
}

bool Slice::State::is_whole_message_there(int column, std::size_t bytes) const {
  const std::uint64_t lines = is_in_lines(bytes) ? std::max<std::size_t>(lines_of(bytes), 1) : 1;
  for (std::uint64_t line = lines; line-- > 0;) {
    if (!is_there(row(position + line)[column], position + line)) return false;
  }
  return true;
}

bool Slice::State::reads(const FusedCall& call, int peer) const {
  if (peer == rank) return false;
  switch (call.operation) {
    case Operation::bcast:
    case Operation::scatter:
      return peer == call.root;
    case Operation::gather:
    case Operation::reduce:
      return rank == call.root;
    case Operation::scan:
    case Operation::exscan:
      return peer < rank;
    default:
      return true;
  }
}

bool Slice::start_fused(const FusedCall& call) {
  State& s = *state_;
  s.exchange.next_read = 0;
  if (s.size == 1) return true;
  const std::size_t posted = s.posted_bytes(call);
  s.skip_ring_end(posted, 1);
  if (s.position > s.soft_limit && !s.find_room(wait_)) return false;
  const void* from = call.from;
  if (has_blocks_for_all(call.operation) && s.size == 2) from = block_of(from, 1 - s.rank, call.bytes);
  switch (call.operation) {
    case Operation::bcast:
      if (s.rank == call.root) s.post(call.into, posted, wait_);
      break;
    case Operation::scatter:
      if (s.rank == call.root) s.post(from, posted, wait_);
      break;
    case Operation::scan:
    case Operation::exscan:
      if (s.rank + 1 < s.size) s.post(from, posted, wait_);
      break;
    case Operation::gather:
    case Operation::reduce:
      if (s.rank == call.root) {
        s.arrive(wait_);
      } else {
        s.post_and_arrive(from, posted, wait_);
      }
      break;
    default:
      s.post_and_arrive(from, posted, wait_);
  }
  return true;
}

bool Slice::end_fused(const FusedCall& call) {
  State& s = *state_;
  const std::size_t posted = s.posted_bytes(call);
  for (; s.exchange.next_read < s.size; ++s.exchange.next_read) {
    if (s.reads(call, s.exchange.next_read) && !s.is_whole_message_there(s.exchange.next_read, posted))
      return false;
  }
  s.take_fused(call, wait_);
  if (s.size == 1) return true;
  // Who reads the lines of all others has seen that they have finished what was before.
  const int first = s.rank == 0 ? 1 : 0, last = s.rank == s.size - 1 ? s.size - 2 : s.size - 1;
  if (s.reads(call, first) && s.reads(call, last)) s.peers_done = s.position;
  s.advance(std::max<std::size_t>(lines_of(posted), 1));
  return true;
}

// All is there: nothing waits in here.
void Slice::State::take_fused(const FusedCall& call, const WaitConfig& wait) {
  const std::size_t bytes = call.bytes, posted = posted_bytes(call);
  const bool is_root = rank == call.root;
  const auto keep_own = [&](void* own, const void* from) {
    if (own != from) copy_bytes(own, from, bytes);
  };
  switch (call.operation) {
    case Operation::bcast:
      if (!is_root) fetch(call.into, bytes, call.root, wait);
      break;
    case Operation::reduce:
      if (is_root) reduce_in_rank_order(call.into, call.from, call.count, call.combine, size, wait);
      break;
    case Operation::allreduce:
      reduce_in_rank_order(call.into, call.from, call.count, call.combine, size, wait);
      break;
    case Operation::scan:
      reduce_in_rank_order(call.into, call.from, call.count, call.combine, rank + 1, wait);
      break;
    case Operation::exscan:
      if (rank > 0) reduce_in_rank_order(call.into, call.from, call.count, call.combine, rank, wait);
      break;
    case Operation::gather:
      if (!is_root) break;
      [[fallthrough]];
    case Operation::allgather:
      keep_own(block_of(call.into, rank, bytes), call.from);
      for (int peer = 0; peer < size; ++peer) {
        if (peer != rank) fetch(block_of(call.into, peer, bytes), bytes, peer, wait);
      }
      break;
    case Operation::scatter:
      if (is_root) {
        keep_own(call.into, block_of(call.from, rank, bytes));
      } else {
        const std::size_t offset = size == 2 ? 0 : static_cast<std::size_t>(rank) * bytes;
        fetch_part(call.into, offset, bytes, posted, position, call.root, wait);
      }
      break;
    case Operation::alltoall:
      keep_own(block_of(call.into, rank, bytes), block_of(call.from, rank, bytes));
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        const std::size_t offset = size == 2 ? 0 : static_cast<std::size_t>(rank) * bytes;
        fetch_part(block_of(call.into, peer, bytes), offset, bytes, posted, position, peer, wait);
      }
      break;
    case Operation::reduce_scatter_block:
      if (size == 1) return keep_own(call.into, call.from);
      join_part(call.into, block_of(call.from, rank, bytes),
                size == 2 ? 0 : static_cast<std::size_t>(rank) * bytes, call.count, posted, call.combine,
                wait);
      break;
    default:
      break;  // a barrier
  }
}

}  // namespace unisono::shm
