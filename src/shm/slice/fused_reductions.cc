// SPDX-License-Identifier: BSD-3-Clause
// Fused operations that join what ranks have (A2, G2): each rank posts its own, reads the others' and joins
// all of them itself, in the order of the ranks.
#include "base/short_copy.h"
#include "shm/slice/fused_rings.h"

namespace unisono::shm {
namespace {

// (0 op 1) op 2 ... of two operands or more. `operand(i, room)` gives where operand i lies, which may be in
// `room`.
template <class Operand>
void join_in_rank_order(void* into, std::size_t count, const Combine& combine, int operands, char* result,
                        char* incoming, Operand operand) {
  const void* left = operand(0, result);
  for (int peer = 1; peer < operands; ++peer) {
    const void* right = operand(peer, incoming);
    void* to = peer == operands - 1 ? into : result;
    combine(to, left, right, count);
    left = to;
  }
}

}  // namespace

const void* Slice::State::contribution(int from, const void* own, std::size_t bytes, char* room,
                                       const WaitConfig& wait) {
  if (from == rank) return own;
  if (bytes <= payload_bytes) return await_payload(current[from], position, wait);
  if (!is_in_lines(bytes)) {
    await_payload(current[from], position, wait);
    return block(from);
  }
  fetch(room, bytes, from, wait);
  return room;
}

// The same on every rank that asks: operators that do not commute are served, and all ranks get
// the same bits. `into` may be `from`: it is written last.
void Slice::State::reduce_in_rank_order(void* into, const void* from, std::size_t count,
                                        const Combine& combine, int operands, const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  const auto operand = [&](int peer, char* room) { return contribution(peer, from, bytes, room, wait); };
  if (operands == 1) {
    const void* only = operand(0, result);
    if (only != into) copy_short(into, only, bytes);
    return;
  }
  join_in_rank_order(into, count, combine, operands, result, incoming, operand);
}

void Slice::reduce(void* into, const void* from, std::size_t count, const Combine& combine, int local_root) {
  State& s = *state_;
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  if (s.size == 1) {
    if (into != from) copy_bytes(into, from, bytes);
    return;
  }
  s.begin_operation(bytes, wait_);
  if (s.rank == local_root) {
    s.arrive(wait_);
    s.reduce_in_rank_order(into, from, count, combine, s.size, wait_);
    s.peers_done = s.position;
  } else {
    s.post_and_arrive(from, bytes, wait_);
  }
  s.advance(lines_of(bytes));
}

void Slice::State::allreduce_of_many(void* into, const void* from, std::size_t count, const Combine& combine,
                                     const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  if (size == 1) {
    if (into != from) copy_bytes(into, from, bytes);
    return;
  }
  begin_operation(bytes, wait);
  post_and_arrive(from, bytes, wait);
  reduce_in_rank_order(into, from, count, combine, size, wait);
  peers_done = position;
  advance(lines_of(bytes));
}

void Slice::allreduce(void* into, const void* from, std::size_t count, const Combine& combine) {
  State& s = *state_;
  const std::size_t bytes = count * combine.element_bytes;
  if (s.size != 2 || bytes > payload_bytes || bytes == 0) {
    s.allreduce_of_many(into, from, count, combine, wait_);
    return;
  }
  const void* other = s.exchange_line(from, bytes, wait_);
  const bool is_first = s.rank == 0;
  combine(into, is_first ? from : other, is_first ? other : from, count);
}

// What a rank has it writes before it waits for those before it, so that nobody waits for a chain of others.
// The last rank's nobody reads.
void Slice::State::prefix(void* into, const void* from, std::size_t count, const Combine& combine,
                          bool is_inclusive, const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  if (size > 1) {
    begin_operation(bytes, wait);
    if (rank + 1 < size) post(from, bytes, wait);
  }
  const int operands = is_inclusive ? rank + 1 : rank;
  if (operands > 0) reduce_in_rank_order(into, from, count, combine, operands, wait);
  if (size > 1) advance(lines_of(bytes));
}

void Slice::scan(void* into, const void* from, std::size_t count, const Combine& combine) {
  state_->prefix(into, from, count, combine, true, wait_);
}

void Slice::exscan(void* into, const void* from, std::size_t count, const Combine& combine) {
  state_->prefix(into, from, count, combine, false, wait_);
}

// Only the other's block travels.
void Slice::State::reduce_scatter_of_two(char* into, const char* from, std::size_t count,
                                         const Combine& combine, const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  const char* own = from + static_cast<std::size_t>(rank) * bytes;
  const char* others = from + static_cast<std::size_t>(1 - rank) * bytes;
  const bool is_first = rank == 0;
  if (bytes <= payload_bytes) {
    const char* other = exchange_line(others, bytes, wait);
    combine(into, is_first ? own : other, is_first ? other : own, count);
    return;
  }
  begin_operation(bytes, wait);
  post(others, bytes, wait);
  const void* other = contribution(1 - rank, own, bytes, incoming, wait);
  combine(into, is_first ? own : other, is_first ? other : own, count);
  peers_done = position;
  advance(lines_of(bytes));
}

void Slice::State::join_part(void* into, const char* own, std::size_t offset, std::size_t count,
                             std::size_t whole, const Combine& combine, const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  const auto operand = [&](int peer, char* room) -> const void* {
    if (peer == rank) return own;
    if (is_in_lines(whole)) {
      fetch_part(room, offset, bytes, whole, position, peer, wait);
      return room;
    }
    await_payload(current[peer], position, wait);
    return block(peer) + offset;
  };
  join_in_rank_order(into, count, combine, size, result, incoming, operand);
}

// Everyone writes all it has as one message; each rank takes its part of all, and joins them in rank order.
void Slice::State::reduce_part_of_many(char* into, const char* from, std::size_t first, std::size_t count,
                                       std::size_t total, const Combine& combine, const WaitConfig& wait) {
  const std::size_t whole = total * combine.element_bytes;
  const std::size_t offset = first * combine.element_bytes;
  begin_operation(whole, wait);
  post_and_arrive(from, whole, wait);
  if (count != 0) {
    join_part(into, from + offset, offset, count, whole, combine, wait);
    peers_done = position;  // who has no part has seen nobody
  }
  advance(lines_of(whole));
}

void Slice::reduce_scatter(void* into, const void* from, std::size_t count, const Combine& combine) {
  State& s = *state_;
  if (count == 0) return;
  auto* to = static_cast<char*>(into);
  const auto* blocks = static_cast<const char*>(from);
  if (s.size == 1) {
    if (into != from) copy_bytes(into, from, count * combine.element_bytes);
  } else if (s.size == 2) {
    s.reduce_scatter_of_two(to, blocks, count, combine, wait_);
  } else {
    const auto rank = static_cast<std::size_t>(s.rank), ranks = static_cast<std::size_t>(s.size);
    s.reduce_part_of_many(to, blocks, rank * count, count, ranks * count, combine, wait_);
  }
}

void Slice::reduce_part(void* into, const void* from, std::size_t first, std::size_t count, std::size_t total,
                        const Combine& combine) {
  State& s = *state_;
  if (total == 0) return;
  // As blocks of one length: both ranks know all lengths.
  if (s.size == 2 && 2 * count == total) return reduce_scatter(into, from, count, combine);
  if (s.size > 1) {
    s.reduce_part_of_many(static_cast<char*>(into), static_cast<const char*>(from), first, count, total,
                          combine, wait_);
  } else if (into != from) {
    copy_bytes(into, from, count * combine.element_bytes);
  }
}

}  // namespace unisono::shm
