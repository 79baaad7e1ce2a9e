// SPDX-License-Identifier: BSD-3-Clause
// Persistent calls that Unisono makes. MPI matches them by the order in which they were initialised, and
// ranks may start them in any order: so each has a place of its own, which its ranks agree on when it is
// made, and needs nothing of its communicator afterwards. docs/architecture.md, "Persistent calls".
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "runtime/communicator.h"
#include "runtime/runtime.h"

namespace unisono::runtime {

class Job;

// Where calls run one after the other, whatever runs elsewhere: a queue, tags and a slice of their own, in
// the shape of a communicator that no handle leads to. Of one request; or of all those of a communicator
// whose ranks say that they start them in one order.
struct PersistentPlace {
  explicit PersistentPlace(Job* of);
  ~PersistentPlace();
  PersistentPlace(const PersistentPlace&) = delete;

  Job* job;                             // null: it is over
  std::unique_ptr<Communicator> state;  // null then
  std::optional<host::Comm> apart;      // option verify: where the host makes the calls that are checked
};

// From its MPI_..._init until its request is freed and the last start is over.
struct PreparedCall {
  PreparedCall() = default;
  ~PreparedCall();
  PreparedCall(const PreparedCall&) = delete;

  Call call;
  // Decided and compiled when it was made, for good: starts cannot be counted by all ranks alike.
  CallClass entry;
  std::int64_t bytes = 0;  // that decide
  bool is_commutative = true;
  // Null where nothing moves.
  std::shared_ptr<PersistentPlace> place;
  Job* job = nullptr;  // that is to hear of its end
};

}  // namespace unisono::runtime
