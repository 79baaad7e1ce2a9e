// SPDX-License-Identifier: BSD-3-Clause
// One process's life under Unisono, as the adapter sees it: start, calls, end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "host/host.h"
#include "runtime/call/call.h"
#include "runtime/call/native_reason.h"

namespace unisono::runtime {

// Does the user want what needs MPI_THREAD_MULTIPLE, whatever the program asks for: agents that are threads
// of ranks, or calls that go on everywhere? Asked before MPI_Init.
bool needs_thread_multiple();

// After the host's MPI_Init has succeeded, on every process, once. Collective over the world. Never fails:
// what cannot be set up makes later calls native, with a reason. `spawned_as`: the name by which the world
// was spawned (base/spawned.h), if it was.
void start(host::Host& host, const std::string& spawned_as = {});

// Are the processes that the program spawns to run under Unisono?
bool serves_spawned();
// Of the root of a spawn: so many processes were started, for the report.
void has_spawned(int processes);
// The processes of `host`'s world, a communicator over several worlds, have all agreed to be served
// (across.h). Collective over it, between start() and finish().
void serve_across(std::unique_ptr<host::Host> host);
// Are there such communicators?
bool has_across();
// `made` was made of `of`, by a call collective over it.
void inherit_across(host::Comm of, host::Comm made);

// The program has made `made`, by a call that all its ranks are in. Collective over it where option
// set_up_early is on.
void has_made(host::Comm made);

// True between start() and finish(); wrappers pass straight through otherwise.
bool is_running();

// Takes one collective call. The arguments have been checked as far as MPI's own rules go (the wrapper sends
// invalid ones to the host). Thread-safe for different communicators, as MPI demands.
Outcome collective(const Call& call, int* error);
// The same of a call with `staging`, which is asked where Unisono serves the call, and only then. Where the
// outcome is compared the caller fetches what the host has written before compare(), and delivers after it.
Outcome collective_staged(const Call& call, int* error);

// A blocking call of which the program hears nothing. The host is going to refuse it on this rank, and the
// others wait for this rank's part where Unisono serves it.
void take_part(const Call& call);

// Is it known that the host makes this blocking call, without a look at more of its arguments than `reduced`
// (null: at any)? Then it is counted, and collective() is not to be called.
bool leaves_to_host(Operation operation, host::Comm comm, const Reduced* reduced = nullptr);

// A call, blocking or not, that went to the host without a word to the functions above and below.
void left_to_host(Operation operation, NativeReason reason);

// Takes one non-blocking collective call, and never waits: it is under way when this returns (or ended), and
// goes on in make_progress. The calls on one communicator run one after the other, blocking ones after those
// that are under way. Where the outcome is native, nothing is called. Where it is compared, the call is under
// way as well, and *host is what the host is to start before the wrapper returns; then host_has_started().
// Without `host`: the host cannot, on all ranks alike, and the call is not checked.
Outcome start_collective(const Call& call, const Completion& completion, HostPart** host = nullptr);
void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context);
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
// What carries the program's messages inside nodes; null: the MPI does.
class Messages;
Messages* messages();
// A rank, of the world, has died while this one waited for it in a call on `comm`: calls its error handler.
int end_with_lost_peer(host::Comm comm, int rank, int process_id);

// Are calls under way in this process? Not those whose results were picked up (pickup.h).
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

// What serves blocking calls of an operation by its name with so many bytes on a communicator, or the world.
// With an i before the name: those that do not block.
// "algorithm(parameters)". Empty where there is no such operation, or where nothing is decided here.
std::string decision(const char* operation, std::int64_t bytes, std::optional<host::Comm> comm = {});

// What lies between two ranks of the world: 0 nothing that is known of, 1 caches, 2 NUMA domains, 3 sockets,
// 4 nodes; -1: there is no such rank.
int distance(int rank, int other);

// What an operation on the shared memory of a communicator's node costs this rank, seconds; less than 0: that
// was not measured (shm/slice/costs.h). `wait` names how ranks wait meanwhile, empty: as they do. Collective.
double operation_time(host::Comm comm, const char* what, std::int64_t bytes, int buffers, const char* wait,
                      int repetitions);

// Before the host's MPI_Finalize: threads that may call the host end, and what they did goes on where the
// program comes by. MPICH locks nothing from there on. Waits for no other rank.
void leave_all_to_program();
// Behind all that the program does in the host's MPI_Finalize. Collective over the world.
void meet_at_end();
// From COMM_SELF's delete callback in the host's MPI_Finalize, or before it. Collective over the world:
// gathers the records, writes the report on rank 0, frees what the core holds.
void finish();

}  // namespace unisono::runtime
