// SPDX-License-Identifier: BSD-3-Clause
// Fused operations: whole collectives of small messages over the rings of lines (A2 below the buffer size;
// G2). They are flat on purpose: each rank posts its lines and reads the others'. So an oversubscribed rank
// that finds all lines present needs no switch, and a call costs one switch a rank. Here are those that only
// move data.
#include "base/short_copy.h"
#include "shm/slice/fused_rings.h"

namespace unisono::shm {
void Slice::State::barrier_of_many(const WaitConfig& wait) {
  begin_operation(0, wait);
  post_and_arrive(nullptr, 0, wait);
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

void Slice::State::allgather_of_many(char* blocks, const void* from, std::size_t bytes,
                                     const WaitConfig& wait) {
  if (bytes == 0) return;
  char* own = blocks + static_cast<std::size_t>(rank) * bytes;
  if (size > 1) {
    begin_operation(bytes, wait);
    post_and_arrive(from, bytes, wait);
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
    s.post_and_arrive(from, bytes, wait_);
  } else {
    s.arrive(wait_);
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
    post_and_arrive(from, whole, wait);
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
