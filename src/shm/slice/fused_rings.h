// SPDX-License-Identifier: BSD-3-Clause
// How fused operations move through the rings of lines: room for an operation, messages, two ranks' exchange
// of one line. What each call takes stands here, to be compiled into the operations.
#pragma once

#include <cassert>

#include "shm/slice/lines.h"

namespace unisono::shm {

inline const char* Slice::State::await_payload(const Line& line, std::uint64_t at,
                                               const WaitConfig& wait) const {
  for (int polls = quick_polls; !is_there(line, at); --polls) {
    if (polls == 0) {
      wait_for_line(line, at, wait);
      break;
    }
  }
  return line.payload;
}

// A block is not cut at the ring's end: the operation begins anew at its start, on all ranks alike.
inline void Slice::State::skip_ring_end(std::size_t bytes, int messages) {
  const std::size_t lines = static_cast<std::size_t>(messages) * lines_of(bytes);
  assert(lines <= longest_lines);
  if (!is_in_lines(bytes) && (position & ring_mask) + lines > ring_mask + 1) {
    advance(ring_mask + 1 - (position & ring_mask));
  }
}

inline void Slice::State::begin_operation(std::size_t bytes, const WaitConfig& wait, int messages) {
  skip_ring_end(bytes, messages);
  if (position > soft_limit) make_room(wait);
}

inline void Slice::State::fetch(void* data, std::size_t bytes, std::uint64_t at, int column,
                                const WaitConfig& wait) {
  if (bytes <= payload_bytes) {
    copy_short(data, await_payload(row(at)[column], at, wait), bytes);
  } else {
    fetch_part(data, 0, bytes, bytes, at, column, wait);
  }
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

}  // namespace unisono::shm
