// SPDX-License-Identifier: BSD-3-Clause
// Copies that the kernel refuses though it allowed them at the start: a process that has given up its
// privileges, whose first thread has ended, or which forbids system calls. The owner of the memory makes
// them.
#include <bit>
#include <cassert>

#include "base/short_copy.h"
#include "shm/slice/slice_state.h"

namespace unisono::shm {

void Slice::ask(int owner, std::uint64_t address, std::size_t bytes) {
  assert(bytes <= most_asked_bytes);
  State& s = *state_;
  Ask& own = s.single_copy.asks[local_rank_];
  own.address = address;
  own.bytes = bytes;
  own.state.store(Ask::of(owner), std::memory_order_release);
  s.single_copy.log->has_asks.store(1, std::memory_order_release);
  if (s.is_ringing) shm::ring(wait_.doorbell);
}

bool Slice::is_answered() const {
  return state_->single_copy.asks[local_rank_].state.load(std::memory_order_acquire) == Ask::answered;
}

void Slice::take_answer(void* into) {
  Ask& own = state_->single_copy.asks[local_rank_];
  copy_bytes(into, state_->single_copy.answer_to(local_rank_), own.bytes);
  own.state.store(Ask::none, std::memory_order_relaxed);
}

bool Slice::has_asks() const {
  return state_->single_copy.log->has_asks.load(std::memory_order_relaxed) != 0;
}

bool Slice::answer_asks() {
  State& s = *state_;
  bool has_answered = false;
  for (int asking = 0; asking < s.size; ++asking) {
    Ask& ask = s.single_copy.asks[asking];
    if (ask.state.load(std::memory_order_acquire) != Ask::of(local_rank_)) continue;
    copy_bytes(s.single_copy.answer_to(asking), reinterpret_cast<const void*>(ask.address), ask.bytes);
    ask.state.store(Ask::answered, std::memory_order_release);
    has_answered = true;
  }
  if (has_answered && s.is_ringing) shm::ring(wait_.doorbell);
  return has_answered;
}

// Whoever comes first decides. Soon, and then now and then: no call is to cost more for it.
bool Slice::gives_up_single_copy() {
  constexpr std::uint64_t interval = 32;
  const std::uint64_t number = ++state_->single_copy.calls;
  if (!std::has_single_bit(number) && number % interval != 0) return false;
  std::atomic<std::uint64_t>& given_up = state_->single_copy.log->given_up;
  std::uint64_t seen = given_up.load(std::memory_order_acquire);
  while (seen % 2 == 0 && number > seen / 2) {
    const std::uint64_t wanted = 2 * number + (has_asks() ? 1 : 0);
    if (given_up.compare_exchange_weak(seen, wanted, std::memory_order_acq_rel)) seen = wanted;
  }
  return seen % 2 != 0 && number >= seen / 2;
}

}  // namespace unisono::shm
