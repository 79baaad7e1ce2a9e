// SPDX-License-Identifier: BSD-3-Clause
// A function of MPI's that is counted and timed, of whatever type: made for each function that the header
// declares (wrappers.cc).
#pragma once

#include <atomic>
#include <type_traits>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/profile/call_profile.h"
#include "adapter/profile/moved.h"

namespace unisono::adapter::profile {

// One call that is counted: what is alike in all functions. Out of line it would take 5 ns more. What MPI
// calls meanwhile, to serve the program, is not the program's and not counted.
class CountedCall {
 public:
  // `elements`: how many the call has, or 0.
  CountedCall(ThreadTable* table, std::size_t function, std::int64_t elements);
  ~CountedCall() { table_->is_inside = false; }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  // The call is over; what follows is no part of its time.
  void stop();
  // After stop().
  void add(const Movement& moved);
  void stop_and_add_nothing_moved();

 private:
  ThreadTable* table_;
  Sampler* sampler_;
  std::size_t function_;
  std::uint64_t started_ = 0;   // 0: the call is not timed
  std::uint64_t weighted_ = 0;  // its ticks, and those of the calls that it stands for
};

[[gnu::always_inline]] inline CountedCall::CountedCall(ThreadTable* table, std::size_t function,
                                                       std::int64_t elements)
    : table_(table), sampler_(&table->sampler(function, tuning::size_class(elements))), function_(function) {
  const bool is_timed = sampler_->left == 0;
  if (!is_timed) --sampler_->left;
  table->is_inside = true;
  if (is_timed) started_ = ticks();
}

[[gnu::always_inline]] inline void CountedCall::stop() {
  if (started_ != 0) weighted_ = take_in(sampler_, started_, ticks(), table_->random());
  table_->is_inside = false;
}

[[gnu::always_inline]] inline void CountedCall::add(const Movement& moved) {
  Cell& cell = table_->cell(function_, moved.distance, moved.bytes);
  cell.calls.add(1);
  cell.bytes.add(static_cast<std::uint64_t>(moved.bytes));
  if (weighted_ != 0) cell.ticks.add(weighted_);
}

[[gnu::always_inline]] inline void CountedCall::stop_and_add_nothing_moved() {
  stop();
  add({});
}

// What is to be forgotten when a function that ends a handle has done so.
enum class Ends : std::uint8_t { nothing, type, communicator, window, request };

constexpr Ends ends(std::string_view function) {
  if (function == "Type_free") return Ends::type;
  if (function == "Comm_free" || function == "Comm_disconnect") return Ends::communicator;
  if (function == "Win_free") return Ends::window;
  return function == "Request_free" ? Ends::request : Ends::nothing;
}

template <Ends what>
void forget(std::uintptr_t handle) {
  if constexpr (what == Ends::type) forget_type();
  if constexpr (what == Ends::communicator) forget_communicator(handle);
  if constexpr (what == Ends::window) forget_window(handle);
  if constexpr (what == Ends::request) forget_request(handle);
}

template <std::size_t index, Traits traits, Ends end, class Function>
struct Counted;

template <std::size_t index, Traits traits, Ends end, class Result, class... Arguments>
struct Counted<index, traits, end, Result (*)(Arguments...)> {
  static Result call(Arguments... given) {
    const auto target = reinterpret_cast<Result (*)(Arguments...)>(targets[index]);
    ThreadTable* table = table_to_count_in();
    if (table == nullptr) return target(given...);
    MPI_Status own_status;
    const MPI_Status* status = nullptr;
    if constexpr (traits.status >= 0) {
      auto& asked = nth<traits.status>(given...);
      if (asked == MPI_STATUS_IGNORE) asked = &own_status;
      status = asked;
    }
    std::uintptr_t ended = 0;
    if constexpr (end != Ends::nothing) {
      const auto* handle = nth<0>(given...);
      if (handle != nullptr) ended = widen<std::uintptr_t>(*handle);
    }
    CountedCall counted(table, index, elements(given...));
    const Result result = target(given...);
    if constexpr (traits.shape == Shape::plain) {
      counted.stop_and_add_nothing_moved();
    } else {
      counted.stop();
      counted.add(moved(table, Pack<Arguments...>{given...}, status, result));
    }
    if constexpr (end != Ends::nothing) forget<end>(ended);
    return result;
  }

 private:
  static std::int64_t elements(Arguments... given) {
    if constexpr (traits.count >= 0) {
      const auto count = nth<traits.count>(given...);
      if constexpr (std::is_integral_v<decltype(count)>) return static_cast<std::int64_t>(count);
    }
    return 0;
  }

  static Movement moved(ThreadTable* table, const Pack<Arguments...>& arguments, const MPI_Status* status,
                        Result result) {
    // Of a call that has failed the arguments may mean nothing.
    if (result != MPI_SUCCESS) return {};
    const Movement moved = Moved<traits, Arguments...>(table, arguments).movement(status);
    if constexpr (traits.is_init) {
      remember(arguments, moved);
      return {};
    }
    return moved;
  }

  // Starts of a receive send nothing.
  static void remember(const Pack<Arguments...>& arguments, Movement moved) {
    const MPI_Request* request = element<static_cast<int>(sizeof...(Arguments)) - 1>(arguments);
    if constexpr (traits.kind == FunctionKind::point_to_point && !traits.is_sending) moved.bytes = 0;
    remember_start(*request, moved);
  }
};

}  // namespace unisono::adapter::profile
