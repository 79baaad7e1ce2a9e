// SPDX-License-Identifier: BSD-3-Clause
// The memory of a recording: events of this rank, the receives that are under way, and the communicators that
// they belong to. It is bounded: when it is full counters alone go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "adapter/below/functions.h"
#include "base/ticks.h"
#include "runtime/messages/event_stream.h"

namespace unisono::adapter::recording {

// A communicator, as all ranks of it know it: by its members, and by how many with the same ones were before.
struct Known {
  std::uint32_t context = 0;
  bool is_left_out = false;     // some members are of another job
  bool is_exact = false;        // Unisono carries its messages: its queues write down what they see
  std::vector<int> world_rank;  // of those that are sent to
};

// What a persistent request is started with.
struct Persistent {
  std::uint64_t bytes = 0;
  std::int32_t peer = 0, tag = 0;  // of the communicator
  bool is_send = false, is_active = false;
};

// A receive that is under way, or a persistent request.
struct Request {
  std::uint64_t handle = 0;  // 0: none
  const Known* known = nullptr;
  std::uint32_t number = 0;
  bool has_wildcard = false, is_cancelled = false;
  std::unique_ptr<Persistent> persistent;  // null: it is over when it is complete
};

// By handle; open addressing.
class Requests {
 public:
  Requests();
  Request* find(std::uint64_t handle);
  // In the stead of one with the same handle, if there is any.
  void insert(Request request);
  void erase(Request* request);
  std::size_t count() const { return count_; }

 private:
  std::size_t place(std::uint64_t handle) const { return (handle * 0x9E3779B97F4A7C15ULL) >> shift_; }
  std::size_t mask() const { return slots_.size() - 1; }
  void grow();
  std::vector<Request> slots_;  // a power of two
  std::size_t count_ = 0;
  int shift_ = 0;
};

class Recorder {
 public:
  // `bytes`: what events may take. `queues`: where those of Unisono's own queues are; null where it carries
  // no messages.
  Recorder(std::uint64_t bytes, runtime::EventStream* queues);

  struct Message {
    const Known* known;
    int peer, tag;  // of the communicator, or MPI's wildcards
    std::uint64_t bytes;

    bool has_wildcard() const { return peer < 0 || tag < 0; }
    runtime::EventPlace place() const {
      return {known->context, peer < 0 ? -1 : known->world_rank[static_cast<std::size_t>(peer)], bytes};
    }
  };
  void sent(const Message& message, std::uint64_t began) {
    ++sends;
    events.sent(began, message.place(), message.tag);
  }
  // Returns the receive's number.
  std::uint32_t posted(const Message& message, std::uint64_t began) {
    ++receives;
    return events.posted(began, message.place(), message.tag < 0 ? -1 : message.tag);
  }
  void received(const Known& known, std::uint32_t number, bool had_wildcard, const MPI_Status& status,
                std::uint64_t now);
  void cancelled(std::uint32_t number, std::uint64_t now) { events.cancelled(now, number); }
  void probed(const Message& message) {
    events.probed(ticks(), message.place(), message.tag < 0 ? -1 : message.tag);
  }
  // Of which the queues tell the rest.
  void counted_receive() { ++receives; }
  void probed_in_vain() { ++failed_probes; }

  // Null: nothing was recorded of it.
  const Known* known(MPI_Comm comm);
  // The same of the last call's communicator; null where it is another one, which may be no communicator.
  const Known* known_if_seen(MPI_Comm comm) const { return comm == comm_ ? known_ : nullptr; }
  void made(MPI_Comm comm);
  void forget(MPI_Comm comm);
  std::uint64_t type_bytes(MPI_Datatype type);
  void forget_types() { type_ = MPI_DATATYPE_NULL; }

  Requests requests;
  // Taken by whoever calls the above, where the program has several threads.
  void lock() {
    while (has_threads && taken_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() {
    if (has_threads) taken_.clear(std::memory_order_release);
  }
  bool has_threads = true;

  // The communicator with this number of Unisono's.
  const Known* with_queues(std::uint32_t context) const;
  // Those of which the queues tell all.
  std::vector<std::uint32_t> exact_contexts() const;

  runtime::EventStream events;
  runtime::EventStream* const of_queues;
  std::uint64_t sends = 0, receives = 0, failed_probes = 0, left_out = 0;

 private:
  Known* make(MPI_Comm comm);

  std::map<std::uint32_t, const Known*> with_queues_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // of the last call
  const Known* known_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::uint64_t type_bytes_ = 0;
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

// Null: nothing is recorded now.
extern std::atomic<Recorder*> recorder;

}  // namespace unisono::adapter::recording
