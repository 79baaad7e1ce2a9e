// SPDX-License-Identifier: BSD-3-Clause
// Fused operations along a tree of the local ranks. What all join goes up, one message a rank; what all get
// goes down, and all below a rank read the same message of it. Where the tree follows caches and NUMA domains
// few lines leave them. A row of lines is for the way up, the next one for the way down, in the columns of
// those who write.
#include "shm/slice/fused_rings.h"

namespace unisono::shm {
namespace {

// How many messages of its own a rank writes: up, and down.
constexpr int both_ways = 2;

}  // namespace

// What this rank has and what those below it have, joined: in `into`, or where the only operand lies.
const void* Slice::State::join_from_below(void* into, const void* from, std::size_t count,
                                          const Combine& combine, const TreePlace& place,
                                          const WaitConfig& wait) {
  const std::size_t bytes = count * combine.element_bytes;
  const void* left = from;
  for (const int child : place.children) {
    const void* right = contribution(child, from, bytes, incoming, wait);
    void* to = child == place.children.back() ? into : result;
    combine(to, left, right, count);
    left = to;
  }
  return left;
}

void Slice::State::read_from_above(void* data, std::size_t bytes, std::uint64_t at, const TreePlace& place,
                                   const WaitConfig& wait) {
  if (place.parent >= 0) fetch(data, bytes, at, place.parent, wait);
  if (!place.children.empty()) post(data, bytes, at, rank, wait);
}

void Slice::barrier(const TreePlace& place) {
  State& s = *state_;
  if (s.size == 1) return;
  s.begin_operation(0, wait_, both_ways);
  for (const int child : place.children) s.await_payload(s.current[child], s.position, wait_);
  if (place.parent >= 0) s.post(nullptr, 0, wait_);
  s.read_from_above(nullptr, 0, s.position + 1, place, wait_);
  s.peers_done = s.position;
  s.advance(both_ways);
}

void Slice::await_below(const TreePlace& place) {
  State& s = *state_;
  if (s.size == 1) return;
  s.begin_operation(0, wait_);
  for (const int child : place.children) s.await_payload(s.current[child], s.position, wait_);
  if (place.parent >= 0) {
    s.post(nullptr, 0, wait_);
  } else {
    s.peers_done = s.position;  // all have come here
  }
  s.advance(1);
}

void Slice::await_above(const TreePlace& place) {
  State& s = *state_;
  if (s.size == 1) return;
  s.begin_operation(0, wait_);
  s.read_from_above(nullptr, 0, s.position, place, wait_);
  s.advance(1);
}

void Slice::bcast(void* data, std::size_t bytes, const TreePlace& place) {
  State& s = *state_;
  if (s.size == 1 || bytes == 0) return;
  s.begin_operation(bytes, wait_);
  s.read_from_above(data, bytes, s.position, place, wait_);
  s.advance(lines_of(bytes));
}

void Slice::reduce(void* into, const void* from, std::size_t count, const Combine& combine,
                   const TreePlace& place) {
  State& s = *state_;
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  s.begin_operation(bytes, wait_);
  if (place.parent >= 0) {
    s.post(s.join_from_below(s.result, from, count, combine, place, wait_), bytes, wait_);
  } else {
    const void* joined = s.join_from_below(into, from, count, combine, place, wait_);
    if (joined != into) copy_short(into, joined, bytes);
    s.peers_done = s.position;  // all have come here
  }
  s.advance(lines_of(bytes));
}

void Slice::allreduce(void* into, const void* from, std::size_t count, const Combine& combine,
                      const TreePlace& place) {
  State& s = *state_;
  const std::size_t bytes = count * combine.element_bytes;
  if (bytes == 0) return;
  s.begin_operation(bytes, wait_, both_ways);
  const std::uint64_t down = s.position + lines_of(bytes);
  if (place.parent >= 0) {
    s.post(s.join_from_below(s.result, from, count, combine, place, wait_), bytes, wait_);
  } else {
    const void* joined = s.join_from_below(into, from, count, combine, place, wait_);
    if (joined != into) copy_short(into, joined, bytes);
  }
  s.read_from_above(into, bytes, down, place, wait_);
  s.peers_done = s.position;
  s.advance(both_ways * lines_of(bytes));
}

}  // namespace unisono::shm
