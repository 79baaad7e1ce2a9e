// SPDX-License-Identifier: BSD-3-Clause
#include "shm/slice/fused_rings.h"

#include <algorithm>

#include "base/short_copy.h"

namespace unisono::shm {

void Slice::State::wait_for_line(const Line& line, std::uint64_t at, const WaitConfig& wait) {
  Backoff backoff(wait);
  while (!is_there(line, at)) backoff.step();
}

// The limits leave three quarters of the ring to run ahead: a quarter is for the longest operation, and by up
// to a quarter the others' `consumed` may be behind. What a rank has finished it publishes before it waits
// for anybody, so two ranks never wait for each other here.
bool Slice::State::find_room(const WaitConfig& wait) {
  const std::uint64_t lines = ring_mask + 1;
  const std::uint64_t quarter = lines / 4;
  if (position - published >= quarter) {
    published = position;
    consumed[rank].value.store(position, std::memory_order_release);
    if (is_ringing) shm::ring(wait.doorbell);
  }
  if (position + quarter > peers_done + lines) {
    std::uint64_t least = position;
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) least = std::min(least, consumed[peer].value.load(std::memory_order_acquire));
    }
    peers_done = std::max(peers_done, least);
    if (position + quarter > peers_done + lines) return false;
  }
  soft_limit = std::min(peers_done + lines - quarter, published + quarter);
  return true;
}

void Slice::State::make_room(const WaitConfig& wait) {
  Backoff backoff(wait);
  while (!find_room(wait)) backoff.step();
}

void Slice::State::post(const void* data, std::size_t bytes, std::uint64_t at, int column,
                        const WaitConfig& wait) {
  post_silently(data, bytes, at, column);
  if (is_ringing) [[unlikely]]
    shm::ring(wait.doorbell);
}

void Slice::State::post_silently(const void* data, std::size_t bytes, std::uint64_t at, int column) {
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
}

// Nobody comes to a row again before all have left it, so each lap adds as many as there are ranks, or none.
void Slice::State::ring_if_last(const WaitConfig& wait) {
  const auto ranks = static_cast<std::uint64_t>(size);
  const std::uint64_t before = bells.arrivals[position & ring_mask].fetch_add(1, std::memory_order_acq_rel);
  if (before % ranks == ranks - 1) shm::ring(wait.doorbell);
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

std::size_t Slice::fused_max_bytes() const {
  return state_->longest_lines * cache_line_bytes;
}

}  // namespace unisono::shm
