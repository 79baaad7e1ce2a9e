// SPDX-License-Identifier: BSD-3-Clause
// Fused operations: whole collectives of small messages over the rings of lines (A2 below the buffer size;
// G2). Flat on purpose: each rank posts its lines and reads the others', so that an oversubscribed rank that
// finds all lines present needs no switch, and a call costs one switch a rank.
#include <algorithm>
#include <cassert>

#include "base/short_copy.h"
#include "shm/slice/lines.h"

namespace unisono::shm {
namespace {

[[gnu::noinline]] void wait_for_line(const Line& line, std::uint64_t at, const WaitConfig& wait) {
  Backoff backoff(wait);
  while (!is_there(line, at)) backoff.step();
}

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

const char* Slice::State::await_payload(const Line& line, std::uint64_t at, const WaitConfig& wait) const {
  for (int polls = quick_polls; !is_there(line, at); --polls) {
    if (polls == 0) {
      wait_for_line(line, at, wait);
      break;
    }
  }
  return line.payload;
}

// The limits leave three quarters of the ring to run ahead: a quarter is for the longest operation, and by up
// to a quarter the others' `consumed` may be behind. What a rank has finished it publishes before it waits
// for anybody, so two ranks never wait for each other here.
void Slice::State::make_room(const WaitConfig& wait) {
  const std::uint64_t lines = ring_mask + 1;
  const std::uint64_t quarter = lines / 4;
  if (position - published >= quarter) {
    published = position;
    consumed[rank].value.store(position, std::memory_order_release);
    if (is_ringing) shm::ring(wait.doorbell);
  }
  Backoff backoff(wait);
  while (position + quarter > peers_done + lines) {
    std::uint64_t least = position;
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) least = std::min(least, consumed[peer].value.load(std::memory_order_acquire));
    }
    peers_done = std::max(peers_done, least);
    if (position + quarter > peers_done + lines) backoff.step();
  }
  soft_limit = std::min(peers_done + lines - quarter, published + quarter);
}

// A block is not cut at the ring's end: the operation begins anew at its start, on all ranks alike.
void Slice::State::begin_operation(std::size_t bytes, const WaitConfig& wait) {
  assert(lines_of(bytes) <= longest_lines);
  if (!is_in_lines(bytes) && (position & ring_mask) + lines_of(bytes) > ring_mask + 1) {
    advance(ring_mask + 1 - (position & ring_mask));
  }
  if (position > soft_limit) make_room(wait);
}

void Slice::State::post(const void* data, std::size_t bytes, std::uint64_t at, int column,
                        const WaitConfig& wait) {
  if (is_in_lines(bytes)) {
    const auto* from = static_cast<const char*>(data);
    for (; bytes > payload_bytes; bytes -= payload_bytes, from += payload_bytes, ++at) {
      post_line(row(at) + column, from, payload_bytes, at);
    }
    post_line(row(at) + column, from, bytes, at);
  } else {
    copy_bytes(block(column, at), data, bytes);
    post_line(row(at) + column, nullptr, 0, at);
  }
  if (is_ringing) [[unlikely]]
    shm::ring(wait.doorbell);
}

void Slice::State::fetch(void* data, std::size_t bytes, std::uint64_t at, int column,
                         const WaitConfig& wait) {
  if (bytes <= payload_bytes) {
    copy_short(data, await_payload(row(at)[column], at, wait), bytes);
  } else {
    fetch_part(data, 0, bytes, bytes, at, column, wait);
  }
}

void Slice::State::fetch_part(void* data, std::size_t offset, std::size_t bytes, std::size_t whole_bytes,
                              std::uint64_t at, int column, const WaitConfig& wait) {
  if (!is_in_lines(whole_bytes)) {
    await_payload(row(at)[column], at, wait);
    copy_bytes(data, block(column, at) + offset, bytes);
    return;
  }
  auto* into = static_cast<char*>(data);
  while (bytes > 0) {
    const std::uint64_t line = at + offset / payload_bytes;
    const std::size_t skipped = offset % payload_bytes;
    const std::size_t length = std::min(bytes, payload_bytes - skipped);
    copy_short(into, await_payload(row(line)[column], line, wait) + skipped, length);
    into += length, offset += length, bytes -= length;
  }
}

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

std::size_t Slice::fused_max_bytes() const {
  return state_->longest_lines * cache_line_bytes;
}

// Two ranks and one line each, the shortest way. What the next call needs is stored before the wait, so that
// little is left to do once the other's line arrives; what is rare leaves through a tail call.
[[gnu::always_inline]] inline const char* Slice::State::exchange_line(const void* data, std::size_t bytes,
                                                                      const WaitConfig& wait) {
  const std::uint64_t at = position;
  if (at > soft_limit) [[unlikely]]
    return exchange_line_slowly(data, bytes, wait);
  Line* lines = current;
  post_line(lines + rank, data, bytes, at);
  peers_done = at;
  advance(1);
  const Line& other = lines[1 - rank];
  for (int polls = quick_polls; !is_there(other, at); --polls) {
    if (polls == 0) [[unlikely]]
      return finish_exchange(at, wait);
  }
  if (is_ringing) [[unlikely]]
    shm::ring(wait.doorbell);
  return other.payload;
}

const char* Slice::State::exchange_line_slowly(const void* data, std::size_t bytes, const WaitConfig& wait) {
  make_room(wait);
  post_line(current + rank, data, bytes, position);
  peers_done = position;
  advance(1);
  return finish_exchange(peers_done, wait);
}

const char* Slice::State::finish_exchange(std::uint64_t at, const WaitConfig& wait) {
  if (is_ringing) shm::ring(wait.doorbell);
  const Line& other = row(at)[1 - rank];
  wait_for_line(other, at, wait);
  return other.payload;
}

void Slice::State::barrier_of_many(const WaitConfig& wait) {
  begin_operation(0, wait);
  post(nullptr, 0, wait);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) await_payload(current[peer], position, wait);
  }
  peers_done = position;
  advance(1);
}

void Slice::barrier() {
  State& s = *state_;
  if (s.size == 2) {
    s.exchange_line(nullptr, 0, wait_);
  } else if (s.size > 2) {
    s.barrier_of_many(wait_);
  }
}

void Slice::bcast(void* data, std::size_t bytes, int local_root) {
  State& s = *state_;
  if (s.size == 1 || bytes == 0) return;
  s.begin_operation(bytes, wait_);
  if (s.rank == local_root) {
    s.post(data, bytes, wait_);
  } else {
    s.fetch(data, bytes, local_root, wait_);
  }
  s.advance(lines_of(bytes));
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
    s.reduce_in_rank_order(into, from, count, combine, s.size, wait_);
    s.peers_done = s.position;
  } else {
    s.post(from, bytes, wait_);
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
  post(from, bytes, wait);
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

// Everyone writes all it has as one message; each rank takes its part of all, and joins them in rank order.
void Slice::State::reduce_part_of_many(char* into, const char* from, std::size_t first, std::size_t count,
                                       std::size_t total, const Combine& combine, const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  const std::size_t whole = total * combine.element_bytes;
  const std::size_t offset = first * combine.element_bytes;
  const auto operand = [&](int peer, char* room) -> const void* {
    if (peer == rank) return from + offset;
    if (is_in_lines(whole)) {
      fetch_part(room, offset, bytes, whole, position, peer, wait);
      return room;
    }
    await_payload(current[peer], position, wait);
    return block(peer) + offset;
  };
  begin_operation(whole, wait);
  post(from, whole, wait);
  if (count != 0) {
    join_in_rank_order(into, count, combine, size, result, incoming, operand);
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
  if (s.size > 1) {
    s.reduce_part_of_many(static_cast<char*>(into), static_cast<const char*>(from), first, count, total,
                          combine, wait_);
  } else if (into != from) {
    copy_bytes(into, from, count * combine.element_bytes);
  }
}

void Slice::State::allgather_of_many(char* blocks, const void* from, std::size_t bytes,
                                     const WaitConfig& wait) {
  if (bytes == 0) return;
  char* own = blocks + static_cast<std::size_t>(rank) * bytes;
  if (size > 1) {
    begin_operation(bytes, wait);
    post(from, bytes, wait);
  }
  if (own != from) copy_bytes(own, from, bytes);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) fetch(blocks + static_cast<std::size_t>(peer) * bytes, bytes, peer, wait);
  }
  peers_done = position;
  advance(lines_of(bytes));
}

void Slice::allgather(void* into, const void* from, std::size_t bytes) {
  State& s = *state_;
  auto* blocks = static_cast<char*>(into);
  if (s.size != 2 || bytes > payload_bytes || bytes == 0) {
    s.allgather_of_many(blocks, from, bytes, wait_);
    return;
  }
  const char* other = s.exchange_line(from, bytes, wait_);
  char* own = blocks + static_cast<std::size_t>(s.rank) * bytes;
  copy_short(blocks + static_cast<std::size_t>(1 - s.rank) * bytes, other, bytes);
  if (own != from) copy_short(own, from, bytes);
}

void Slice::gather(void* into, const void* from, std::size_t bytes, int local_root) {
  State& s = *state_;
  if (bytes == 0) return;
  auto* blocks = static_cast<char*>(into);
  if (s.size > 1) s.begin_operation(bytes, wait_);
  if (s.rank != local_root) {
    s.post(from, bytes, wait_);
  } else {
    char* own = blocks + static_cast<std::size_t>(s.rank) * bytes;
    if (own != from) copy_short(own, from, bytes);
    for (int peer = 0; peer < s.size; ++peer) {
      if (peer != s.rank) s.fetch(blocks + static_cast<std::size_t>(peer) * bytes, bytes, peer, wait_);
    }
    s.peers_done = s.position;
  }
  if (s.size > 1) s.advance(lines_of(bytes));
}

// The root writes all blocks as one message, of which each rank takes its part; among two ranks, the only
// block that travels.
void Slice::scatter(void* into, const void* from, std::size_t bytes, int local_root) {
  State& s = *state_;
  if (bytes == 0) return;
  const auto* blocks = static_cast<const char*>(from);
  const auto ranks = static_cast<std::size_t>(s.size);
  const std::size_t posted = s.size <= 2 ? bytes : ranks * bytes;
  if (s.size > 1) s.begin_operation(posted, wait_);
  if (s.rank == local_root) {
    const char* own = blocks + static_cast<std::size_t>(s.rank) * bytes;
    if (s.size == 2) blocks += static_cast<std::size_t>(1 - s.rank) * bytes;
    if (s.size > 1) s.post(blocks, posted, wait_);
    if (into != own) copy_short(into, own, bytes);
  } else {
    const std::size_t offset = s.size == 2 ? 0 : static_cast<std::size_t>(s.rank) * bytes;
    s.fetch_part(into, offset, bytes, posted, s.position, local_root, wait_);
  }
  if (s.size > 1) s.advance(lines_of(posted));
}

void Slice::State::alltoall_of_two(char* into, const char* from, std::size_t bytes, const WaitConfig& wait) {
  const std::size_t own = static_cast<std::size_t>(rank) * bytes;
  const std::size_t others = static_cast<std::size_t>(1 - rank) * bytes;
  begin_operation(bytes, wait);
  post(from + others, bytes, wait);
  if (into != from) copy_bytes(into + own, from + own, bytes);
  fetch(into + others, bytes, 1 - rank, wait);
  peers_done = position;
  advance(lines_of(bytes));
}

// Everyone writes all its blocks as one message, and takes its part of the others'.
void Slice::State::alltoall_of_many(char* into, const char* from, std::size_t bytes, const WaitConfig& wait) {
  const std::size_t own = static_cast<std::size_t>(rank) * bytes;
  const std::size_t whole = static_cast<std::size_t>(size) * bytes;
  if (size > 1) {
    begin_operation(whole, wait);
    post(from, whole, wait);
  }
  if (into != from) copy_short(into + own, from + own, bytes);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    fetch_part(into + static_cast<std::size_t>(peer) * bytes, own, bytes, whole, position, peer, wait);
  }
  peers_done = position;
  if (size > 1) advance(lines_of(whole));
}

void Slice::alltoall(void* into, const void* from, std::size_t bytes) {
  State& s = *state_;
  if (bytes == 0) return;
  auto* to = static_cast<char*>(into);
  const auto* blocks = static_cast<const char*>(from);
  if (s.size != 2) {
    s.alltoall_of_many(to, blocks, bytes, wait_);
    return;
  }
  if (bytes > payload_bytes) {
    s.alltoall_of_two(to, blocks, bytes, wait_);
    return;
  }
  const std::size_t others = static_cast<std::size_t>(1 - s.rank) * bytes;
  const char* other = s.exchange_line(blocks + others, bytes, wait_);
  copy_short(to + others, other, bytes);
  if (into == from) return;
  const std::size_t own = static_cast<std::size_t>(s.rank) * bytes;
  copy_short(to + own, blocks + own, bytes);
}

}  // namespace unisono::shm
