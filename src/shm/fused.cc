// SPDX-License-Identifier: BSD-3-Clause
// Fused operations: whole collectives of small messages over the rings of lines (A2 below the buffer size;
// G2). Flat on purpose: each rank posts its lines and reads the others', so that an oversubscribed rank that
// finds all lines present needs no switch, and a call costs one switch a rank.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "shm/slice_state.h"

namespace unisono::shm {
namespace {

constexpr std::size_t payload_bytes = Line::payload_bytes;

std::size_t lines_of(std::size_t bytes) {
  return (bytes + payload_bytes - 1) / payload_bytes;
}

// Polls of one line before the wait counts as one that looks at the clock.
constexpr int quick_polls = 64;

bool is_there(const Line* line, std::uint64_t at) {
  return line->sequence.load(std::memory_order_acquire) == at + 1;
}

[[gnu::noinline]] void wait_for_line(const Line* line, std::uint64_t at, const WaitConfig& wait) {
  if (wait.policy == WaitPolicy::spin || wait.policy == WaitPolicy::pause) {
    const bool is_pausing = wait.policy == WaitPolicy::pause;
    for (int i = 0; i < quick_polls; ++i) {
      if (is_there(line, at)) return;
      if (is_pausing) relax();
    }
  }
  Backoff backoff(wait);
  while (!is_there(line, at)) backoff.step();
}

}  // namespace

const char* Slice::State::await_payload(int from, std::uint64_t at, const WaitConfig& wait) {
  const Line* there = line(from, at);
  if (!is_there(there, at)) wait_for_line(there, at, wait);
  return there->payload;
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
    if (wait.policy == WaitPolicy::futex) shm::ring(wait.doorbell);
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

void Slice::State::post(const void* data, std::size_t bytes, const WaitConfig& wait) {
  const auto* from = static_cast<const char*>(data);
  std::uint64_t at = position;
  while (bytes > payload_bytes) {
    Line* own = line(rank, at);
    std::memcpy(own->payload, from, payload_bytes);
    own->sequence.store(++at, std::memory_order_release);
    from += payload_bytes;
    bytes -= payload_bytes;
  }
  Line* own = line(rank, at);
  if (bytes != 0) std::memcpy(own->payload, from, bytes);
  own->sequence.store(at + 1, std::memory_order_release);
  if (wait.policy == WaitPolicy::futex) shm::ring(wait.doorbell);
}

void Slice::State::fetch(void* data, std::size_t bytes, int from, const WaitConfig& wait) {
  auto* into = static_cast<char*>(data);
  std::uint64_t at = position;
  while (bytes > payload_bytes) {
    std::memcpy(into, await_payload(from, at++, wait), payload_bytes);
    into += payload_bytes;
    bytes -= payload_bytes;
  }
  std::memcpy(into, await_payload(from, at, wait), bytes);
}

const void* Slice::State::contribution(int from, const void* own, std::size_t bytes, char* room,
                                       const WaitConfig& wait) {
  if (from == rank) return own;
  if (bytes <= payload_bytes) return await_payload(from, position, wait);
  fetch(room, bytes, from, wait);
  return room;
}

// ((0 op 1) op 2) ... on every rank that asks: operators that do not commute are served, and all ranks get
// the same bits. `into` may be `from`: it is written last.
void Slice::State::reduce_in_rank_order(void* into, const void* from, std::size_t count,
                                        const Combine& combine, const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  const void* left = contribution(0, from, bytes, result, wait);
  for (int peer = 1; peer < size; ++peer) {
    const void* right = contribution(peer, from, bytes, incoming, wait);
    void* to = peer == size - 1 ? into : result;
    combine(to, left, right, count);
    left = to;
  }
}

std::size_t Slice::fused_max_bytes() const {
  return state_->longest_lines * payload_bytes;
}

void Slice::barrier() {
  State& s = *state_;
  if (s.size == 1) return;
  s.begin_operation(wait_);
  s.post(nullptr, 0, wait_);
  for (int peer = 0; peer < s.size; ++peer) {
    if (peer != s.rank) s.await_payload(peer, s.position, wait_);
  }
  s.peers_done = s.position++;
}

void Slice::bcast(void* data, std::size_t bytes, int local_root) {
  State& s = *state_;
  if (s.size == 1 || bytes == 0) return;
  assert(bytes <= fused_max_bytes());
  s.begin_operation(wait_);
  if (s.rank == local_root) {
    s.post(data, bytes, wait_);
  } else {
    s.fetch(data, bytes, local_root, wait_);
  }
  s.position += lines_of(bytes);
}

void Slice::reduce(void* into, const void* from, std::size_t count, const Combine& combine, int local_root) {
  State& s = *state_;
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  if (s.size == 1) {
    if (into != from) std::memcpy(into, from, bytes);
    return;
  }
  assert(bytes <= fused_max_bytes());
  s.begin_operation(wait_);
  if (s.rank == local_root) {
    s.reduce_in_rank_order(into, from, count, combine, wait_);
    s.peers_done = s.position;
  } else {
    s.post(from, bytes, wait_);
  }
  s.position += lines_of(bytes);
}

void Slice::allreduce(void* into, const void* from, std::size_t count, const Combine& combine) {
  State& s = *state_;
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  if (s.size == 1) {
    if (into != from) std::memcpy(into, from, bytes);
    return;
  }
  assert(bytes <= fused_max_bytes());
  s.begin_operation(wait_);
  s.post(from, bytes, wait_);
  s.reduce_in_rank_order(into, from, count, combine, wait_);
  s.peers_done = s.position;
  s.position += lines_of(bytes);
}

void Slice::allgather(void* into, const void* from, std::size_t bytes) {
  State& s = *state_;
  if (bytes == 0) return;
  auto* blocks = static_cast<char*>(into);
  char* own = blocks + static_cast<std::size_t>(s.rank) * bytes;
  if (s.size == 1) {
    if (own != from) std::memcpy(own, from, bytes);
    return;
  }
  assert(bytes <= fused_max_bytes());
  s.begin_operation(wait_);
  s.post(from, bytes, wait_);
  if (own != from) std::memcpy(own, from, bytes);
  for (int peer = 0; peer < s.size; ++peer) {
    if (peer != s.rank) s.fetch(blocks + static_cast<std::size_t>(peer) * bytes, bytes, peer, wait_);
  }
  s.peers_done = s.position;
  s.position += lines_of(bytes);
}

}  // namespace unisono::shm
