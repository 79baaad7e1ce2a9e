// SPDX-License-Identifier: BSD-3-Clause
// An MPI in one process: every rank is a thread. Messages match as MPI says, per source, tag and
// communicator, in the order in which they were sent. Small messages are buffered. Large ones move when both
// sides are there and the sender makes progress. Delays drawn from a seed shake the order in which things
// complete. A deadlock does not hang: it is reported with what every rank waits for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/host.h"

namespace unisono::fake_host {

struct Options {
  std::vector<int> node_labels{};        // rank -> node, for tests that emulate several; empty: one node
  std::size_t eager_limit_bytes = 4096;  // messages up to here are buffered: their send completes alone
  bool is_synchronous = false;           // no send completes before its receive has matched it
  std::uint64_t seed = 0;                // of the delays
  int max_delay = 0;                     // most calls of a rank by which a completion is delayed
  double deadlock_seconds = 30;          // without any change while all ranks only ask
  bool is_thread_multiple = true;
  bool takes_device_memory = false;
  int largest_tag = (1 << 30) - 1;
  int failing_rank = -1;  // this rank's isend number `failing_isend` (from 0) ...
  int failing_isend = 0;
  int failing_code = 77;  // ... returns this code and sends nothing
  // So many steps later (messages, ends of requests, collectives) all calls throw Stopped; 0: never.
  std::atomic<int>* steps_left = nullptr;
};

// Error codes of the fake's own.
inline constexpr int error_truncated = 15;
inline constexpr int error_argument = 13;

// What all ranks' next calls throw once the watchdog has found a deadlock, or another rank has failed.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bytes of a type that hold data, relative to the element's address.
struct Segment {
  std::ptrdiff_t offset_bytes = 0;
  std::size_t bytes = 0;
};

using UserFunction = std::function<void(const void* in, void* inout, std::size_t count, host::Datatype type)>;

// Handles of what is predefined.
host::Datatype datatype(ElementType type);
host::Op op(ReduceOp which);

struct State;
class FakeHost;

class FakeWorld {
 public:
  explicit FakeWorld(int size, const Options& options = {});
  ~FakeWorld();

  int size() const;
  // Rank -> node as given in the options.
  const std::vector<int>& node_labels() const;

  // Types and operators are made before run() and hold on all ranks.
  host::Datatype add_type(const std::vector<Segment>& segments, std::ptrdiff_t extent_bytes);
  host::Datatype gapped_int32();  // two int32 with gaps between and behind them: {0, 8} of 16 bytes
  host::Op add_op(UserFunction function, bool is_commutative);

  // Runs `body` as every rank and waits for all. An exception of a rank stops the others and comes back here;
  // so does Stopped with the state of all ranks where they wait for each other.
  void run(const std::function<void(FakeHost& host, int rank)>& body);

  // What was sent and never received, posted and never matched, or never tested to its end; empty when all is
  // well.
  std::string leftovers() const;

 private:
  std::unique_ptr<State> state_;
};

// One rank's view.
class FakeHost final : public host::Host {
 public:
  FakeHost(State* state, int rank);

  // --- What only tests use ---
  // Gives the communicator a name, declares it an intercommunicator (local to this rank).
  void set_comm_name(host::Comm comm, const std::string& name);
  void set_reproducible_hint(host::Comm comm, host::Hint hint);
  void set_ordered_persistent(host::Comm comm);
  void set_neighbors(host::Comm comm, const host::TopologyNeighbors& neighbors);
  void declare_intercommunicator(host::Comm comm);
  const std::vector<int>& handled_errors() const { return handled_errors_; }
  std::uint64_t progress_calls() const { return progress_calls_; }
  // Collectives for set-up that this rank has begun, new communicators included.
  std::uint64_t collective_calls() const { return collective_calls_; }

  const std::string& library_name() const override;
  const std::string& family_name() const override;
  bool is_thread_multiple() const override;
  int largest_tag() const override;
  bool takes_device_memory() override;

  host::Comm world() const override;
  int comm_rank(host::Comm comm) override;
  int comm_size(host::Comm comm) override;
  bool is_intercommunicator(host::Comm comm) override;
  int comm_split(host::Comm parent, int color, int key, host::Comm* created) override;
  int comm_free(host::Comm* comm) override;
  int translate_ranks(host::Comm from, host::Comm to, std::vector<int>* ranks) override;
  int on_comm_free(host::Comm comm, void (*callback)(void*), void* state) override;
  std::string comm_name(host::Comm comm) override;
  host::Hint reproducible_hint(host::Comm comm) override;
  bool has_ordered_persistent(host::Comm comm) override;
  bool has_hints(host::Comm comm) override;
  int neighbors(host::Comm comm, host::TopologyNeighbors* found) override;

  int isend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
            host::Request* request) override;
  int issend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
             host::Request* request) override;
  int irecv(void* data, std::size_t bytes, int source, int tag, host::Comm comm,
            host::Request* request) override;
  int cancel_receive(host::Request* request) override;
  int test(host::Request* request, bool* is_done) override;
  int test_some(int count, host::Request* requests, int* completed_count, int* completed) override;
  void progress() override;

  int agree(std::uint64_t* values, int count, host::AgreeOp op, host::Comm comm) override;
  int bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm) override;
  int allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm) override;
  int start_allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm,
                            host::Request* request) override;
  int start_bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm,
                        host::Request* request) override;
  int gather_bytes(const void* in, std::size_t bytes, void* out, int root, host::Comm comm) override;
  int barrier(host::Comm comm) override;

  int type_info(host::Datatype type, host::TypeInfo* info) override;
  int pack(const void* data, std::size_t count, host::Datatype type, void* packed,
           std::size_t packed_bytes) override;
  int unpack(const void* packed, std::size_t packed_bytes, void* data, std::size_t count,
             host::Datatype type) override;
  ReduceOp reduce_op(host::Op op) override;
  host::Op predefined_op(ReduceOp op) override { return fake_host::op(op); }
  bool is_commutative(host::Op op) override;
  bool is_defined(host::Op op, host::Datatype type) override;
  int reduce_local(const void* in, void* inout, std::size_t count, host::Datatype type, host::Op op) override;

  int call_error_handler(host::Comm comm, int error_code) override;
  int abort(host::Comm comm, int exit_code) override;

 private:
  int start_send(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm, bool waits,
                 host::Request* request);
  using Contributions = std::vector<std::vector<char>>;
  std::shared_ptr<const Contributions> exchange(host::Comm comm, const void* data, std::size_t bytes,
                                                std::uint64_t* number = nullptr);
  // Everyone's bytes, one after the other, to all.
  int start_gathering(const void* in, std::size_t bytes, void* out, host::Comm comm, host::Request* request);

  State* state_;
  int rank_;
  std::vector<int> handled_errors_;
  std::uint64_t progress_calls_ = 0, collective_calls_ = 0;
};

}  // namespace unisono::fake_host
