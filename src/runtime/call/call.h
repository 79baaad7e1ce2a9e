// SPDX-License-Identifier: BSD-3-Clause
// What a collective call is: as the adapter hands it over, and what comes back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.h"
#include "host/host.h"
#include "runtime/call/native_reason.h"

namespace unisono::runtime {

// Counts and displacements of one block for each rank, as the program gave them: of one datatype, in its
// extents, or of a datatype each, in bytes. Without counts: one block, of `count` elements.
struct BlockArguments {
  void* buffer = nullptr;
  const void* counts = nullptr;  // int, or std::int64_t where `are_large`
  const void* displacements = nullptr;
  bool are_large = false;
  std::size_t count = 0;
  host::Datatype type{};
  const host::Datatype* types = nullptr;

  std::size_t count_of(std::int64_t block) const {
    if (counts == nullptr) return count;
    return static_cast<std::size_t>(number(counts, block));
  }
  bool is_valid(std::int64_t block) const { return counts == nullptr || number(counts, block) >= 0; }
  std::ptrdiff_t displacement_of(std::int64_t block) const { return number(displacements, block); }

 private:
  std::ptrdiff_t number(const void* numbers, std::int64_t block) const {
    return are_large ? static_cast<const std::int64_t*>(numbers)[block]
                     : static_cast<const int*>(numbers)[block];
  }
};

// Stands between a call and the program's memory, where the host cannot read that: the call's buffers are
// copies. Both give the host's error code.
class Staging {
 public:
  virtual ~Staging() = default;
  virtual int fetch() = 0;    // what the call reads, before anything reads it
  virtual int deliver() = 0;  // what the call has written
};

class Pickup;

// One blocking collective call as the program made it. Counts and types are as MPI defines them for the
// operation. Bcast and reductions use send_count and send_type: bcast with send_buffer == recv_buffer == the
// buffer, reduce_scatter_block with those of one block. On ranks where MPI says an argument is not
// significant the wrapper leaves it zero. `is_in_place`: the program gave MPI_IN_PLACE.
struct Call {
  Operation operation = Operation::barrier;
  bool is_in_place = false;
  bool is_persistent = false;  // made to be repeated
  bool may_outlive = false;    // one that does not block, and may go on behind MPI_Finalize
  int root = 0;
  host::Comm comm{};
  const void* send_buffer = nullptr;
  void* recv_buffer = nullptr;
  std::size_t send_count = 0;
  std::size_t recv_count = 0;
  host::Datatype send_type{};
  host::Datatype recv_type{};
  host::Op op{};
  // Operations on uneven blocks: instead of buffers, counts and types above; an empty one where MPI says that
  // it is not significant on this rank. A reduction's input has no displacements: its blocks stand side by
  // side.
  BlockArguments send_blocks, recv_blocks;
  Staging* staging = nullptr;  // null: the buffers are the program's own
  Pickup* pickup = nullptr;  // where who waits for it may take its result, in the caller's memory (pickup.h)
};

enum class Outcome : std::uint8_t {
  done,          // Finished; *error is what the MPI function returns.
  native,        // Not taken: the wrapper calls the host MPI's own collective, on all ranks alike.
  compared,      // Unisono's result is kept aside: the wrapper calls the host's own, and then compare().
                 // Calls that do not block: see start_collective.
  native_timed,  // The same as native, and the wrapper then says how long it took: native_finished().
};

// What a reduction is known by where its buffers do not count.
struct Reduced {
  std::size_t count;
  host::Datatype type;
  host::Op op;
};

// What is called when a non-blocking call has ended: by start_collective or make_progress, on any thread.
// `error` is the host's, success where all is well; no error handler has been called. Where it comes before
// start_collective returns, the call has failed at once.
struct Completion {
  void (*call)(void* context, int error) = nullptr;
  void* context = nullptr;
};

// The host's part of a call that does not block and is checked (option verify): what it is to start, in this
// order. The first one is the program's own; what the others work on belongs to the runtime.
struct HostPart {
  std::vector<Call> calls;
  // Looks whether all of them are over, without waiting; asked until it says so, on threads of the program
  // alone. *error: of the first one.
  bool (*is_over)(void* context, int* error) = nullptr;
  void* context = nullptr;
};

// What the starts of persistent calls are counted in that the host makes.
struct HostStarts {
  void add(std::uint64_t bytes_of_call) {
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(bytes_of_call, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> calls{0}, bytes{0};
};
// A persistent call that Unisono makes (calls/persistent_calls.h). Whoever holds it may start it, also when
// its communicator is gone.
struct PreparedCall;
struct Prepared {
  Outcome outcome = Outcome::native;
  std::shared_ptr<PreparedCall> call{};       // with Outcome::done
  std::shared_ptr<HostStarts> host_starts{};  // null: nothing is counted
  std::uint64_t bytes = 0;                    // of each start
};

}  // namespace unisono::runtime
