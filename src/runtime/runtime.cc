// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/options.h"
#include "base/spawned.h"
#include "patterns/layout.h"
#include "runtime/across.h"
#include "runtime/call/pickup.h"
#include "runtime/calls/operation_time.h"
#include "runtime/communicators/freeing.h"
#include "runtime/decisions/crash_watch.h"
#include "runtime/host_freeing.h"
#include "runtime/job.h"
#include "runtime/job_life.h"
#include "runtime/job_parts.h"
#include "runtime/profile_exchange.h"
#include "runtime/recording_options.h"
#include "runtime/world/start_watch.h"

namespace unisono::runtime {
namespace {

// The process's job. Leaked where the program ends without MPI_Finalize: there is nobody left to talk to
// then.
Job* job = nullptr;
// Jobs beside it, over communicators of several worlds. Most programs have none.
AcrossJobs& across() {
  static AcrossJobs* all = new AcrossJobs;  // never destroyed, as the adapter is not
  return *all;
}
std::atomic<bool> is_across_used{false};

Job* job_across(host::Comm comm) {
  return is_across_used.load(std::memory_order_relaxed) && !across().is_empty() ? across().find(comm)
                                                                                : nullptr;
}

// The job that serves the communicator, as long as there is one at all.
Job& job_of(host::Comm comm) {
  Job* found = job_across(comm);
  return found != nullptr ? *found : *job;
}

struct SpawnCounts {
  std::atomic<std::uint64_t> calls{0}, processes{0};
};
SpawnCounts spawned;

// Work on a communicator that may wait for other ranks.
template <class Work>
void unless_peers_are_lost(host::Comm comm, Work work) {
  if (job == nullptr) return;
  Job& of_comm = job_of(comm);
  try {
    work(of_comm.parts());
  } catch (const PeerLost& lost) {
    of_comm.parts().communicators.end_with_lost_peer(comm, lost);
  }
}

// What processes that were spawned do otherwise than those that have spawned them, by the same settings.
void adapt_to_spawned(const std::string& name, int ranks, Options* options) {
  options->report = file_of_spawned(options->report, name);
  // Agents that are processes are the first job's.
  if (options->agents == "1") options->agents = "0";
  const auto pretended = patterns::Layout::parse(options->nodes);
  if (!pretended || pretended->size() != ranks) options->nodes.clear();
}

}  // namespace

void start(host::Host& host, const std::string& spawned_as) {
  if (job != nullptr) return;
  const StartWatch watch(host.comm_rank(host.world()), host.comm_size(host.world()));
  std::vector<std::string> warnings;
  Options options = read_options(Environment::of_process(), &warnings);
  if (!spawned_as.empty()) adapt_to_spawned(spawned_as, host.comm_size(host.world()), &options);
  job = new Job(host, std::move(options), warnings);
  if (job->has_stepped_aside()) {
    delete std::exchange(job, nullptr);
    return;
  }
  if (const std::optional<CrashFacts> facts = job->crash_facts()) begin_crash_watch(*facts);
}

Messages* messages() {
  return job == nullptr || !job->parts().messages.is_on() ? nullptr : &job->parts().messages;
}

int end_with_lost_peer(host::Comm comm, int rank, int process_id) {
  if (job == nullptr) return host::success;
  return job_of(comm).parts().communicators.end_with_lost_peer(comm, {.rank = rank, .process_id = process_id},
                                                               "a call with messages");
}

bool is_running() {
  return job != nullptr;
}

bool serves_spawned() {
  if (job != nullptr) return job->parts().world.options.serves_spawned;
  std::vector<std::string> warnings;  // said elsewhere
  return read_options(Environment::of_process(), &warnings).serves_spawned;
}

void has_spawned(int processes) {
  ++spawned.calls;
  spawned.processes += static_cast<std::uint64_t>(processes);
}

SpawnedProcesses spawned_processes() {
  return {.calls = spawned.calls, .processes = spawned.processes};
}

void serve_across(std::unique_ptr<host::Host> host) {
  if (job == nullptr) return;
  is_across_used = true;
  across().add(std::move(host), *job);
}

bool has_across() {
  return is_across_used.load(std::memory_order_relaxed) && !across().is_empty();
}

void inherit_across(host::Comm of, host::Comm made) {
  across().inherit(of, made);
}

void has_made(host::Comm made) {
  if (job == nullptr || !job->parts().world.options.sets_up_early || job_across(made) != nullptr) return;
  unless_peers_are_lost(made, [&](JobParts& parts) { parts.communicators.set_up_early(made); });
}

Outcome collective(const Call& call, int* error) {
  return job == nullptr ? Outcome::native : job_of(call.comm).parts().blocking.run(call, error);
}

Outcome collective_staged(const Call& call, int* error) {
  return job == nullptr ? Outcome::native : job_of(call.comm).parts().blocking.run_staged(call, error);
}

void take_part(const Call& call) {
  constexpr double long_s = 1;  // the least time of all ranks counts
  int error = host::success;
  const Outcome outcome = collective(call, &error);
  if (outcome == Outcome::native_timed) native_finished(call, long_s);
  if (outcome == Outcome::compared) compare(call, host::success);
}

bool leaves_to_host(Operation operation, host::Comm comm, const Reduced* reduced) {
  return job == nullptr || job_of(comm).parts().blocking.leaves_to_host(operation, comm, reduced);
}

void left_to_host(Operation operation, NativeReason reason) {
  if (job != nullptr) job->parts().gate.leave(operation, reason);
}

std::shared_ptr<HostStarts> starts_of_host(Operation operation, NativeReason reason) {
  return job == nullptr ? nullptr : job->parts().persistent.starts_of_host(operation, reason);
}

Outcome start_collective(const Call& call, const Completion& completion, HostPart** host) {
  if (job == nullptr) return Outcome::native;
  if (job_across(call.comm) != nullptr)
    return job->parts().gate.leave(call.operation, NativeReason::outside_world);
  return job->parts().started.start(call, completion, host);
}

void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context) {
  if (job != nullptr) job->parts().started_checks.host_has_started(host, is_over, context);
}

Prepared prepare_collective(const Call& call) {
  Prepared prepared;
  if (job != nullptr && job_across(call.comm) != nullptr) {
    prepared.host_starts = starts_of_host(call.operation, NativeReason::outside_world);
    return prepared;
  }
  unless_peers_are_lost(call.comm, [&](JobParts& parts) { prepared = parts.persistent.prepare(call); });
  return prepared;
}

void refuse_persistent(host::Comm comm) {
  if (job_across(comm) != nullptr) return;
  unless_peers_are_lost(comm, [&](JobParts& parts) { parts.persistent.refuse(comm); });
}

Outcome start_prepared(const std::shared_ptr<PreparedCall>& call, const Completion& completion,
                       HostPart** host) {
  return job == nullptr ? Outcome::native : job->parts().persistent.start(call, completion, host);
}

void begin_freeing(host::Comm comm, std::uintptr_t marks) {
  freeing_of(comm).marks = marks;
  unless_peers_are_lost(comm, [&](JobParts& parts) { parts.communicators.begin_freeing(comm); });
  if (job_across(comm) != nullptr) across().begin_freeing(comm);
}

void end_freeing(host::Comm comm, bool is_freed) {
  unless_peers_are_lost(comm, [&](JobParts& parts) { parts.communicators.end_freeing(comm, is_freed); });
  if (job_across(comm) != nullptr) across().end_freeing(comm, is_freed);
  forget_freeing(comm);
}

std::optional<std::uintptr_t> marks_while_freeing(host::Comm comm) {
  const Freeing* freeing = find_freeing(comm);
  return freeing == nullptr ? std::nullopt : std::optional(freeing->marks);
}

bool has_calls_under_way() {
  return job != nullptr &&
         job->parts().progress.under_way() > pickup_line.picked_up.load(std::memory_order_relaxed);
}

bool make_progress() {
  return job != nullptr && job->parts().progress.make();
}

bool shares_cores() {
  return job != nullptr && job->parts().world.shares_cores();
}

void native_finished(const Call&, double seconds) {
  if (job != nullptr) BlockingCalls::native_finished(seconds);
}

int compare(const Call& call, int host_error) {
  return job == nullptr ? host_error : job_of(call.comm).parts().blocking.compare(call, host_error);
}

void hints_changed(host::Comm comm) {
  unless_peers_are_lost(comm, [&](JobParts& parts) { parts.communicators.forget(comm); });
}

void begin_region(const char* name) {
  if (job != nullptr) job->begin_region(name);
}

void end_region() {
  if (job != nullptr) job->end_region();
}

void set_enabled(bool is_enabled) {
  if (job != nullptr) job->parts().gate.set_open(is_enabled);
}

bool set_algorithm(const char* text) {
  return job != nullptr && job->set_algorithm(text);
}

std::string decision(const char* operation, std::int64_t bytes, std::optional<host::Comm> comm) {
  const bool is_blocking = *operation != 'i';
  const auto known = operation_from_name(is_blocking ? operation : operation + 1);
  if (job == nullptr || !known) return {};
  const auto choice = (comm ? job_of(*comm) : *job).decision(*known, bytes, comm, is_blocking);
  return choice ? choice->text() : std::string();
}

int distance(int rank, int other) {
  if (job == nullptr) return -1;
  const World& world = job->parts().world;
  if (std::min(rank, other) < 0 || std::max(rank, other) >= world.size) return -1;
  const auto a = static_cast<std::size_t>(rank), b = static_cast<std::size_t>(other);
  constexpr int socket = 3, node = 4;
  if (world.node_labels[a] != world.node_labels[b]) return node;
  for (const patterns::DomainLabels& level : world.domains)
    if (level.labels[a] != level.labels[b]) return socket - static_cast<int>(level.kind);
  return 0;
}

double operation_time(host::Comm comm, const char* what, std::int64_t bytes, int buffers, const char* wait,
                      int repetitions) {
  const auto known = shm::measured_from_name(what);
  const auto policy = shm::wait_policy_from_name(wait);
  if (job == nullptr || !known || (*wait != 0 && !policy)) return -1;
  const shm::Measurement measurement{.what = *known,
                                     .bytes = static_cast<std::size_t>(std::max<std::int64_t>(0, bytes)),
                                     .buffers = buffers,
                                     .repetitions = repetitions};
  double seconds = -1;
  unless_peers_are_lost(comm, [&](JobParts& parts) {
    seconds = operation_time(parts.communicators, comm, measurement, policy);
  });
  return seconds;
}

bool is_profile_wanted() {
  std::vector<std::string> warnings;  // said elsewhere
  return read_options(Environment::of_process(), &warnings).is_profiled;
}

bool needs_thread_multiple() {
  std::vector<std::string> warnings;  // said elsewhere
  const Options options = read_options(Environment::of_process(), &warnings);
  return options.agents == "thread" || options.progress == "everywhere";
}

const std::vector<int>* node_labels() {
  return job == nullptr ? nullptr : &job->parts().world.node_labels;
}

std::string record_messages_option() {
  return job == nullptr ? std::string() : job->parts().world.options.record_messages;
}

std::int64_t record_bytes_option() {
  return job == nullptr ? 0 : job->parts().world.options.record_bytes;
}

std::string messages_option() {
  if (messages() == nullptr) return "off";
  const std::string& wanted = job->parts().world.options.messages;
  return wanted == "auto" ? "node" : wanted;
}

bool is_communicator_freed(const PreparedCall& call) {
  if (call.place == nullptr || call.place->state == nullptr) return true;
  return call.place->state->is_freed.load(std::memory_order_relaxed);
}

void keep_profile(RankProfile profile) {
  if (job != nullptr) job->parts().records.lock()->keep_profile(std::move(profile));
}

// Delete functions of MPI_COMM_SELF may still use all of MPI, but no other thread may be in the MPI then
// (MPI 4.1, 11.6.2). The thread beside a program that has not asked for MPI_THREAD_MULTIPLE never is.
void leave_all_to_program() {
  if (job == nullptr) return;
  JobParts& parts = job->parts();
  if (parts.world.may_call_host_aside || parts.messages.is_on()) parts.progress.stop();
  if (parts.world.agents != nullptr) parts.world.agents->hand_over_to(&parts.progress);
}

void meet_at_end() {
  if (job == nullptr) return;
  try {
    meet_at_end(job->parts());
  } catch (const PeerLost&) {
    job->parts().world.has_lost_peer = true;
  }
}

void finish() {
  // The host calls collectives of its own while it shuts down: they must not find a job.
  if (has_across()) across().clear();
  std::unique_ptr<Job> ending(std::exchange(job, nullptr));
  try {
    if (ending != nullptr) ending->finish();
  } catch (const PeerLost&) {
    // Whoever waits for the dead hears it from the host's MPI_Finalize, as natively.
    const AgentsHere* agents = ending.release()->parts().world.agents.get();
    if (agents != nullptr && agents->thread() != nullptr)
      agents->thread()->end_within(std::chrono::milliseconds(500));
  }
  end_crash_watch();
}

}  // namespace unisono::runtime
