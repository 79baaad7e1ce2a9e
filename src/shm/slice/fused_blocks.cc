// SPDX-License-Identifier: BSD-3-Clause
// Blocks whose lengths are known to two ranks and to no others. Each block has a slot of its own in the rings
// of lines. The rings move on by all slots together, whatever is in them. A2.
#include <algorithm>
#include <cassert>

#include "shm/slice/fused_rings.h"

namespace unisono::shm {

std::size_t Slice::most_block_bytes(int lines) {
  return bytes_in(static_cast<std::size_t>(lines));
}

int Slice::most_block_lines(const SliceShape& shape, int places) {
  return static_cast<int>(shape.ring_lines / longest_share) / places;
}

// No slot is cut at the ring's end.
void Slice::begin_blocks(int places, int lines) {
  State& s = *state_;
  s.exchange.places = static_cast<std::uint64_t>(places);
  s.exchange.lines_of_place = static_cast<std::uint64_t>(lines);
  const std::uint64_t all = s.exchange.places * s.exchange.lines_of_place;
  assert(all <= s.longest_lines);
  const std::uint64_t begin = s.position & s.ring_mask;
  if (begin + all > s.ring_mask + 1) s.advance(s.ring_mask + 1 - begin);
  if (s.position > s.soft_limit) s.make_room(wait_);
}

void Slice::put_block(const void* block, std::size_t bytes, int place, int column) {
  assert(lines_of(bytes) <= state_->exchange.lines_of_place);
  state_->post(block, bytes, state_->line_of_place(place), column, wait_);
}

void Slice::get_block(void* into, std::size_t bytes, int place, int column) {
  state_->fetch(into, bytes, state_->line_of_place(place), column, wait_);
}

void Slice::offer_block(const void* block, int place, int column) {
  State& s = *state_;
  const std::uint64_t at = s.line_of_place(place);
  const auto address = reinterpret_cast<std::uint64_t>(block);
  assert(s.exchange.lines_of_place > 1);
  post_line(s.row(at) + column, &address, sizeof address, at);
  if (s.is_ringing) shm::ring(wait_.doorbell);
}

// The reader answers in the slot's next line.
bool Slice::take_block(void* into, std::size_t bytes, int owner, int place, int column) {
  State& s = *state_;
  const std::uint64_t at = s.line_of_place(place);
  std::uint64_t address = 0;
  std::memcpy(&address, s.await_payload(s.row(at)[column], at, wait_), sizeof address);
  const bool is_taken = read_remote(owner, address, into, bytes);
  post_line(s.row(at + 1) + column, &is_taken, sizeof is_taken, at + 1);
  if (s.is_ringing) shm::ring(wait_.doorbell);
  return is_taken;
}

bool Slice::await_taken(int place, int column) {
  State& s = *state_;
  const std::uint64_t at = s.line_of_place(place) + 1;
  bool is_taken = false;
  std::memcpy(&is_taken, s.await_payload(s.row(at)[column], at, wait_), sizeof is_taken);
  return is_taken;
}

void Slice::end_blocks() {
  state_->advance(state_->exchange.places * state_->exchange.lines_of_place);
}

}  // namespace unisono::shm
