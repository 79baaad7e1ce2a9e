// SPDX-License-Identifier: BSD-3-Clause
// One process's life under Unisono, as the entry layer sees it: start, calls, end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "host/host.h"
#include "runtime/native_reason.h"

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

// One blocking collective call as the program made it. Counts and types are as MPI defines them for the
// operation: bcast and reductions use send_count/send_type (bcast: send_buffer == recv_buffer == the buffer;
// reduce_scatter_block: of one block);
// on ranks where MPI says an argument is not significant the wrapper leaves it zero. `is_in_place`: the
// program gave MPI_IN_PLACE.
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
};

enum class Outcome : std::uint8_t {
  done,          // finished; *error is what the MPI function returns
  native,        // not taken: the wrapper calls the host MPI's own collective, on all ranks alike
  compared,      // Unisono's result is kept aside: the wrapper calls the host's own, and then compare()
                 // (of calls that do not block: see start_collective)
  native_timed,  // the same as native, and the wrapper then says how long it took: native_finished()
};

// After the host's MPI_Init has succeeded, on every process, once. Collective over the world. Never fails:
// what cannot be set up makes later calls native, with a reason.
void start(host::Host& host);

// True between start() and finish(); wrappers pass straight through otherwise.
bool is_running();

// Takes one collective call. The arguments have been checked as far as MPI's own rules go (the wrapper sends
// invalid ones to the host). Thread-safe for different communicators, as MPI demands.
Outcome collective(const Call& call, int* error);
// The same of a call with `staging`, which is asked where Unisono serves the call, and only then. Where the
// outcome is compared the caller fetches what the host has written before compare(), and delivers after it.
Outcome collective_staged(const Call& call, int* error);

// A blocking call of which the program hears nothing: the host is going to refuse it on this rank, and the
// others wait for this rank's part where Unisono serves it.
void take_part(const Call& call);

// What a reduction is known by where its buffers do not count.
struct Reduced {
  std::size_t count;
  host::Datatype type;
  host::Op op;
};

// Is it known that the host makes this blocking call, without a look at more of its arguments than `reduced`
// (null: at any)? Then it is counted, and collective() is not to be called.
bool leaves_to_host(Operation operation, host::Comm comm, const Reduced* reduced = nullptr);

// A call, blocking or not, that went to the host without a word to the functions above and below.
void left_to_host(Operation operation, NativeReason reason);

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

// Takes one non-blocking collective call, and never waits: it is under way when this returns (or ended), and
// goes on in make_progress. The calls on one communicator run one after the other, blocking ones after those
// that are under way. Where the outcome is native, nothing is called. Where it is compared, the call is under
// way as well, and *host is what the host is to start before the wrapper returns; then host_has_started().
// Without `host`: the host cannot, on all ranks alike, and the call is not checked.
Outcome start_collective(const Call& call, const Completion& completion, HostPart** host = nullptr);
void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context);
// What the starts of persistent calls are counted in that the host makes.
struct HostStarts {
  void add(std::uint64_t bytes_of_call) {
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(bytes_of_call, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> calls{0}, bytes{0};
};
// A persistent call that Unisono makes (persistent.h). Whoever holds it may start it, also when its
// communicator is gone.
struct PreparedCall;
struct Prepared {
  Outcome outcome = Outcome::native;
  std::shared_ptr<PreparedCall> call{};       // with Outcome::done
  std::shared_ptr<HostStarts> host_starts{};  // null: nothing is counted
  std::uint64_t bytes = 0;                    // of each start
};
// For persistent calls that went to the host without prepare_collective.
std::shared_ptr<HostStarts> starts_of_host(Operation operation, NativeReason reason);
// Of a persistent call, when it is made, where MPI lets us block: sets its communicator up, and finds it a
// place of its own. Where the outcome is native each start of the host's is to be counted. Collective.
Prepared prepare_collective(const Call& call);
// In its stead where the arguments break MPI's rules on this rank, which leaves the call to the host: then it
// is the host's on the others too. Collective with those.
void refuse_persistent(host::Comm comm);
// Has the program freed the communicator of such a call, so that no error handler is there to be told?
bool is_communicator_freed(const PreparedCall& call);
// Starts such a call, as start_collective does. Native: the job is over.
Outcome start_prepared(const std::shared_ptr<PreparedCall>& call, const Completion& completion,
                       HostPart** host = nullptr);
// Before and after the host frees a communicator for the program, on one thread: its calls under way end, and
// until the host has returned it serves that thread's callbacks. Where the host has refused it lives on.
// Collective.
void begin_freeing(host::Comm comm);
void end_freeing(host::Comm comm, bool is_freed);
// Are calls under way in this process?
bool has_calls_under_way();
// Lets all of them go on as far as they can without waiting. True where one has ended. Thread-safe.
bool make_progress();
// Are there more ranks than cores on this node?
bool shares_cores();

// After Outcome::native_timed, on the same thread: how long the host's collective took, seconds.
void native_finished(const Call& call, double seconds);

// After Outcome::compared, on the same thread: compares the results, delivers the right one, and returns what
// the MPI function is to return. `host_error`: what the host's collective returned.
int compare(const Call& call, int host_error);

// After the program has given `comm` other hints, on all its ranks: the communicator is set up anew at its
// next blocking collective.
void hints_changed(host::Comm comm);

// Regions of the program, by name (include/unisono/unisono.h). They may stand in each other.
void begin_region(const char* name);
void end_region();

// Switches interception off and on again at run time, on all ranks alike, between collectives (benchmarks use
// it). Exported to programs as unisono_set_enabled (include/unisono/unisono.h).
void set_enabled(bool is_enabled);

// Forces algorithms as option 'algorithm' does, in its stead, from now on; an empty text: as decided. On all
// ranks alike, with no collective under way. False where the text is wrong: then nothing changes.
bool set_algorithm(const char* text);

// What serves blocking calls of an operation by its name with so many bytes on a communicator, or the world:
// "algorithm(parameters)". Empty where there is no such operation, or where nothing is decided here.
std::string decision(const char* operation, std::int64_t bytes, std::optional<host::Comm> comm = {});

// What an operation on the shared memory of a communicator's node costs this rank, seconds; less than 0: that
// was not measured (shm/slice/costs.h). `wait` names how ranks wait meanwhile, empty: as they do. Collective.
double operation_time(host::Comm comm, const char* what, std::int64_t bytes, int buffers, const char* wait,
                      int repetitions);

// Before the host's MPI_Finalize (or from COMM_SELF's delete callback, whichever comes first). Collective
// over the world: gathers the records, writes the report on rank 0, frees what the core holds.
void finish();

}  // namespace unisono::runtime
