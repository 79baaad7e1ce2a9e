// SPDX-License-Identifier: BSD-3-Clause
// The memory of a recording: events of this rank, the receives that are under way, and the communicators that
// they belong to. It is bounded: when it is full counters alone go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "adapter/below/functions.h"
#include "adapter/profile/ticks.h"

namespace unisono::adapter::recording {

enum class Kind : std::uint8_t { send, post, done, cancel, probe };

// Half a cache line.
struct Record {
  std::uint64_t ticks = 0;
  std::uint64_t bytes = 0;
  std::uint32_t number = 0;
  std::int32_t peer = 0;  // of the world; -1: any
  std::int32_t tag = 0;
  std::uint32_t kind_and_context = 0;

  static constexpr int context_bits = 28;
  Kind kind() const { return static_cast<Kind>(kind_and_context >> context_bits); }
  std::uint32_t context() const { return kind_and_context & ((1U << context_bits) - 1); }
};
static_assert(sizeof(Record) == 32);

// A communicator, as all ranks of it know it: by its members, and by how many with the same ones were before.
struct Known {
  std::uint32_t context = 0;
  bool is_left_out = false;     // some members are of another job
  std::vector<int> world_rank;  // of those that are sent to
};

// A receive that is under way, or a persistent request.
struct Request {
  std::uint64_t handle = 0;  // 0: none
  const Known* known = nullptr;
  std::uint64_t bytes = 0;
  std::int32_t peer = 0, tag = 0;  // of the communicator
  std::uint32_t number = 0;
  bool is_persistent = false, is_send = false, is_active = false, is_cancelled = false;
};

// By handle; open addressing.
class Requests {
 public:
  Requests();
  Request* find(std::uint64_t handle);
  Request* insert(const Request& request);
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
  // `bytes`: what events may take.
  explicit Recorder(std::uint64_t bytes);

  struct Message {
    const Known* known;
    int peer, tag;  // of the communicator, or MPI's wildcards
    std::uint64_t bytes;
  };
  void sent(const Message& message, std::uint64_t ticks);
  // Returns the receive's number.
  std::uint32_t posted(const Message& message, std::uint64_t ticks);
  void received(const Message& message, std::uint32_t number);
  void cancelled(std::uint32_t number);
  void probed(const Message& message);
  void probed_in_vain() { ++failed_probes; }

  // Null: nothing was recorded of it.
  const Known* known(MPI_Comm comm);
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

  const Record* begin() const { return records_; }
  const Record* end() const { return records_ + count_; }
  Record* begin() { return records_; }
  Record* end() { return records_ + count_; }
  std::uint64_t full_ticks = UINT64_MAX;
  std::uint64_t sends = 0, receives = 0, failed_probes = 0, left_out = 0;

 private:
  void add(Kind kind, const Message& message, std::uint32_t number, std::uint64_t ticks);
  Known* make(MPI_Comm comm);

  Record* records_ = nullptr;
  std::size_t count_ = 0, most_ = 0;
  std::uint32_t next_number_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;  // of the last call
  const Known* known_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::uint64_t type_bytes_ = 0;
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

// Null: nothing is recorded now.
extern std::atomic<Recorder*> recorder;

}  // namespace unisono::adapter::recording
