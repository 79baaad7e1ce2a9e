// SPDX-License-Identifier: BSD-3-Clause
// A function of MPI's that is counted and timed, of whatever type: made for each function that the header
// declares (wrappers.cc).
#pragma once

#include <atomic>
#include <tuple>
#include <type_traits>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/profile/moved.h"
#include "adapter/profile/profile.h"

namespace unisono::adapter::profile {

// One place of work is counted once: what MPI calls while it serves the program, and what Unisono does, is
// not the program's.
class Inside {
 public:
  explicit Inside(ThreadTable* table) : table_(table) { table->is_inside = true; }
  ~Inside() { table_->is_inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ThreadTable* table_;
};

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
    std::tuple<Arguments...> arguments(given...);
    MPI_Status own_status;
    const MPI_Status* status = nullptr;
    if constexpr (traits.status >= 0) {
      auto& asked = std::get<static_cast<std::size_t>(traits.status)>(arguments);
      if (asked == MPI_STATUS_IGNORE) asked = &own_status;
      status = asked;
    }
    std::uintptr_t ended = 0;
    if constexpr (end != Ends::nothing) {
      const auto* handle = std::get<0>(arguments);
      if (handle != nullptr) ended = widen<std::uintptr_t>(*handle);
    }
    Sampler& sampler = table->sampler(index, elements_class(arguments));
    const bool is_timed = sampler.left == 0;
    if (!is_timed) --sampler.left;
    Result result{};
    std::uint64_t weighted = 0;
    {
      const Inside inside(table);
      const std::uint64_t started = is_timed ? ticks() : 0;
      result = std::apply(target, arguments);
      if (is_timed) weighted = take_in(&sampler, started, ticks(), table->random());
    }
    count(table, arguments, status, result, weighted);
    if constexpr (end != Ends::nothing) forget<end>(ended);
    return result;
  }

 private:
  static int elements_class(const std::tuple<Arguments...>& arguments) {
    if constexpr (traits.count >= 0) {
      const auto count = std::get<static_cast<std::size_t>(traits.count)>(arguments);
      if constexpr (std::is_integral_v<decltype(count)>)
        return tuning::size_class(static_cast<std::int64_t>(count));
    }
    return 0;
  }

  static void count(ThreadTable* table, const std::tuple<Arguments...>& arguments, const MPI_Status* status,
                    Result result, std::uint64_t weighted) {
    Movement moved;
    if constexpr (traits.shape != Shape::plain) {
      // Of a call that has failed the arguments may mean nothing.
      if (result == MPI_SUCCESS) moved = Moved<traits, Arguments...>(table, arguments).movement(status);
      if constexpr (traits.is_init) {
        if (result == MPI_SUCCESS) remember(arguments, moved);
        moved = {};
      }
    }
    Cell& cell = table->cell(index, moved.distance, moved.bytes);
    cell.calls.add(1);
    cell.bytes.add(static_cast<std::uint64_t>(moved.bytes));
    if (weighted != 0) cell.ticks.add(weighted);
  }

  // Starts of a receive send nothing.
  static void remember(const std::tuple<Arguments...>& arguments, Movement moved) {
    const MPI_Request* request = std::get<sizeof...(Arguments) - 1>(arguments);
    if constexpr (traits.kind == FunctionKind::point_to_point && !traits.is_sending) moved.bytes = 0;
    remember_start(*request, moved);
  }
};

}  // namespace unisono::adapter::profile
