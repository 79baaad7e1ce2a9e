// SPDX-License-Identifier: BSD-3-Clause
// What others must know of requests of MPI_I calls of ours.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "adapter/below/family.h"
#include "adapter/messages/statuses.h"
#include "runtime/call/pickup.h"

namespace unisono::adapter {

// Has the host asked us to cancel one since this thread was last asked here?
bool take_refused_cancel();
// Before the host's end: requests that were kept for reuse.
void end_kept_requests();

// Some calls have a place where whoever waits for their request picks the result up, without a word to the
// host. A place's request is one of the host's all the same, so all else that a program does with it is the
// host's to answer. Picked up it was never completed, and serves the next call.
extern std::array<runtime::Pickup, runtime::pickup_places> pickups;

// The place of a request; null: it has none.
inline runtime::Pickup* pickup_of(MPI_Request request) {
  using runtime::pickup_line;
  if (!pickup_line.are_any.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  const auto handle = widen<std::uintptr_t>(request);
  for (std::size_t place = 0; place < runtime::pickup_places; ++place) {
    if (pickup_line.requests[place].load(std::memory_order_acquire) == handle) return &pickups[place];
  }
  return nullptr;
}

// The calls whose results were picked up since calls went on the last time end, and their places are free.
void end_what_was_picked_up();

// The status of a request of ours.
void set_nothing(MPI_Status* status);

// Completes a request whose result is there to be picked up. False: ask as usual.
inline bool pick_up(MPI_Request* request, runtime::Pickup* place, MPI_Status* status) {
  if (messages::is_missing(status) || !place->pick_up()) return false;
  *request = narrow<MPI_Request>(runtime::pickup_line.null_request.load(std::memory_order_relaxed));
  if (status != MPI_STATUS_IGNORE) set_nothing(status);
  return true;
}

// The same for who asks until it is there.
inline bool pick_up_or_wait(MPI_Request* request, runtime::Pickup* place, MPI_Status* status) {
  if (place == nullptr) return false;
  if (pick_up(request, place, status)) return true;
  place->begin_wait();
  return false;
}

}  // namespace unisono::adapter
