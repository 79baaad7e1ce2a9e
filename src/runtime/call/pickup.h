// SPDX-License-Identifier: BSD-3-Clause
// Where whoever waits for a call picks its result up, as soon as an agent has given it. Nothing else of the
// call is touched: after a program has slept each line of memory is slow to come. The rest is done when calls
// go on the next time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agents/rank_channel.h"
#include "base/short_copy.h"
#include "base/ticks.h"

namespace unisono::runtime {

// What a wait reads of all pickups, in one line.
inline constexpr std::size_t pickup_places = 6;
struct alignas(64) PickupLine {
  std::atomic<int> picked_up{0};     // calls that have not ended otherwise yet: nobody waits for them
  std::atomic<bool> are_any{false};  // ever since there was the first one
  std::atomic<std::uintptr_t> null_request{0};  // the host's word for none
  // Handles of requests whose calls have pickups; 0: of no call that is under way.
  std::array<std::atomic<std::uintptr_t>, pickup_places> requests{};
};
static_assert(sizeof(PickupLine) == 64);
inline PickupLine pickup_line;

class alignas(64) Pickup {
 public:
  // Whoever comes first has the call: who waits for it, or who lets calls go on.
  enum class State : std::uint8_t { closed, open, at_work, picked_up };

  // For the next call, which nobody knows yet.
  void reset() {
    state_.store(State::closed, std::memory_order_relaxed);
    waited_since_.store(0, std::memory_order_relaxed);
  }
  // The call is posted: its result is going to be `bytes` at `result`, once `answer` has this number.
  void open(const agents::Answer& answer, std::uint64_t number, const void* result, void* output,
            std::size_t bytes) {
    answer_ = &answer;
    number_ = number;
    result_ = result;
    output_ = output;
    bytes_ = static_cast<std::uint32_t>(bytes);
    state_.store(State::open, std::memory_order_release);
  }

  // Who waits: true where the result is there, and is the caller's now. What has failed is left to others.
  bool pick_up() {
    if (state_.load(std::memory_order_acquire) != State::open) return false;
    __builtin_prefetch(output_, 1);
    if (answer_->number.load(std::memory_order_acquire) != number_ || answer_->error != 0) return false;
    State expected = State::open;
    if (!state_.compare_exchange_strong(expected, State::at_work, std::memory_order_acq_rel)) return false;
    copy();
    ended_ = counted_ticks();
    pickup_line.picked_up.fetch_add(1, std::memory_order_relaxed);
    state_.store(State::picked_up, std::memory_order_release);
    return true;
  }
  // Who waits has not found it there. For the report: the first time counts.
  void begin_wait() {
    if (waited_since_.load(std::memory_order_relaxed) == 0)
      waited_since_.store(ticks(), std::memory_order_relaxed);
  }
  std::uint64_t waited_since() const {
    return waited_since_.load(std::memory_order_relaxed);
  }  // 0: nobody has
  // Who lets calls go on, before he ends one: from now on nobody picks it up. `at_work`: somebody is about
  // to.
  State close() {
    State found = State::open;
    if (state_.compare_exchange_strong(found, State::closed, std::memory_order_acq_rel)) return State::closed;
    return found;
  }
  // The call ends for the runtime too.
  void end() const {
    if (is_picked_up()) pickup_line.picked_up.fetch_sub(1, std::memory_order_relaxed);
  }
  bool is_open() const { return state_.load(std::memory_order_relaxed) == State::open; }
  bool is_picked_up() const { return state_.load(std::memory_order_acquire) == State::picked_up; }
  // When it was, ticks; nothing that can be told where the processor's counter is not steady.
  std::uint64_t ended() const { return ended_; }

 private:
  // What stands in the answer's line, without a call of the C library's, whose code is far away.
  void copy() const {
    auto* to = static_cast<char*>(output_);
    const auto* from = static_cast<const char*>(result_);
    if (bytes_ > agents::Answer::inline_bytes) return copy_bytes(to, from, bytes_);
    std::uint32_t done = 0;
    for (; done + sizeof(std::uint64_t) <= bytes_; done += sizeof(std::uint64_t))
      __builtin_memcpy(to + done, from + done, sizeof(std::uint64_t));
    for (; done < bytes_; ++done) to[done] = from[done];
  }

  std::atomic<State> state_{State::closed};
  std::uint32_t bytes_ = 0;
  const agents::Answer* answer_ = nullptr;
  std::uint64_t number_ = 0, ended_ = 0;
  const void* result_ = nullptr;
  void* output_ = nullptr;
  std::atomic<std::uint64_t> waited_since_{0};  // ticks
};
static_assert(sizeof(Pickup) == 64);

}  // namespace unisono::runtime
