// SPDX-License-Identifier: BSD-3-Clause
// Persistent calls that Unisono makes. MPI matches them by the order in which they were initialised, and
// ranks may start them in any order. So each has a place of its own, which its ranks agree on when it is
// made. It needs nothing of its communicator afterwards. docs/inside/calls.md, "Persistent calls".
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>

#include "runtime/calls/started_calls.h"
#include "runtime/engines/neighborhoods.h"

namespace unisono::runtime {

class PersistentCalls;

// Where calls run one after the other, whatever runs elsewhere: a queue, tags and a slice of their own, in
// the shape of a communicator that no handle leads to. Of one request; or of all those of a communicator
// whose ranks say that they start them in one order.
struct PersistentPlace {
  explicit PersistentPlace(PersistentCalls* of);
  ~PersistentPlace();
  PersistentPlace(const PersistentPlace&) = delete;

  PersistentCalls* owner;               // null: the job is over
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
  PersistentCalls* owner = nullptr;  // that is to hear of its end
};

class PersistentCalls {
 public:
  PersistentCalls(const World& world, Gate& gate, QueuesLock& queues, Communicators& communicators,
                  const Neighborhoods& neighborhoods, SetUp& set_up, Slices& slices, StartedCalls& started,
                  Checks& checks, const StartedChecks& started_checks, Guarded<Records>& records)
      : world_(world),
        gate_(gate),
        queues_(queues),
        communicators_(communicators),
        neighborhoods_(neighborhoods),
        set_up_(set_up),
        slices_(slices),
        started_(started),
        checks_(checks),
        started_checks_(started_checks),
        records_(records) {}

  // As runtime::prepare_collective, refuse_persistent, start_prepared, starts_of_host.
  Prepared prepare(const Call& call);
  void refuse(host::Comm handle);
  Outcome start(const std::shared_ptr<PreparedCall>& made, const Completion& completion,
                HostPart** host = nullptr);
  std::shared_ptr<HostStarts> starts_of_host(Operation operation, NativeReason reason);

  // The end of a request, of a place, of a communicator of some, and of the job, which requests may outlive.
  void end(PreparedCall& call);
  void leave(PersistentPlace& place);
  void mark_freed(host::Comm handle);
  void end_all();

 private:
  struct Vote {
    bool is_for_host = false, is_ordered = false;
  };
  enum class Decided : std::uint8_t { refused, native, nothing_to_do, scheduled };
  Communicator* come_to(host::Comm handle, NativeReason* reason);
  Vote vote(Communicator& c, bool is_refused) const;
  Decided decide(Communicator& c, const Call& call, PreparedCall* made, Prepared* prepared);
  std::shared_ptr<PersistentPlace> place_for(Communicator& c, const PreparedCall& made, bool is_ordered);
  bool settle_in(PersistentPlace& place, Communicator& c, const PreparedCall* made);
  void absorb(const PreparedCall& call);

  const World& world_;
  Gate& gate_;
  QueuesLock& queues_;
  Communicators& communicators_;
  const Neighborhoods& neighborhoods_;
  SetUp& set_up_;
  Slices& slices_;
  StartedCalls& started_;
  Checks& checks_;
  const StartedChecks& started_checks_;
  Guarded<Records>& records_;
  Guarded<std::set<PreparedCall*>> prepared_;  // that have places
};

}  // namespace unisono::runtime
