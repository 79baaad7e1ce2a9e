// SPDX-License-Identifier: BSD-3-Clause
#include "recording_runtime.h"

#include "runtime/host_freeing.h"
#include "runtime/job_life.h"
#include "runtime/profile_exchange.h"

Recording recording;

void Recording::reset() {
  calls.clear();
  native_seconds.clear();
  outcome = unisono::runtime::Outcome::native;
  error = 0;
  while_called = [] {};
  completions.clear();
  regions.clear();
  ended.clear();
  marks.clear();
  refused.clear();
  freed.clear();
  parts.clear();
  leaves_to_host = false;
  reduced.clear();
  left.clear();
  has_calls_under_way = false;
  progress_count = 0;
  while_progressing = [] {};
}

namespace unisono::runtime {

void start(host::Host& host, const std::string& /*spawned_as*/) {
  ++recording.starts;
  recording.host = &host;
}

bool serves_spawned() {
  return false;
}

void has_spawned(int /*processes*/) {}
SpawnedProcesses spawned_processes() {
  return {};
}

void serve_across(std::unique_ptr<host::Host> /*host*/) {}

bool has_across() {
  return false;
}

void inherit_across(host::Comm /*of*/, host::Comm /*made*/) {}

void has_made(host::Comm made) {
  recording.made.push_back(made);
}

bool is_running() {
  return recording.starts > recording.finishes;
}

Outcome collective(const Call& call, int* error) {
  recording.calls.push_back(call);
  recording.while_called();
  *error = recording.error;
  return recording.outcome;
}

Messages* messages() {
  return nullptr;
}
int end_with_lost_peer(host::Comm, int, int) {
  return host::success;
}
std::string record_messages_option() {
  return "";
}
std::int64_t record_bytes_option() {
  return 0;
}
std::string messages_option() {
  return "off";
}
bool needs_thread_multiple() {
  return false;
}

void left_to_host(Operation, NativeReason reason) {
  recording.left.push_back(reason);
}

std::shared_ptr<HostStarts> starts_of_host(Operation, NativeReason reason) {
  recording.left.push_back(reason);
  return nullptr;
}

Outcome collective_staged(const Call& call, int* error) {
  return collective(call, error);
}

bool leaves_to_host(Operation, host::Comm, const Reduced* reduced) {
  if (reduced != nullptr) recording.reduced.push_back(*reduced);
  return recording.leaves_to_host;
}

Outcome start_collective(const Call& call, const Completion& completion, HostPart** host) {
  recording.calls.push_back(call);
  recording.completions.push_back(completion);
  recording.while_called();
  if (recording.outcome == Outcome::compared) {
    static int ignored[4];
    recording.host_part = {.calls = {call}};
    void*& out = recording.host_part.calls[0].recv_buffer;
    if (call.operation == Operation::exscan && out == nullptr) out = ignored;
    *host = &recording.host_part;
  }
  return recording.outcome;
}

void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context) {
  host->is_over = is_over;
  host->context = context;
}

struct PreparedCall {
  Call call;
};

Prepared prepare_collective(const Call& call) {
  recording.calls.push_back(call);
  Prepared prepared{.outcome = recording.outcome};
  if (prepared.outcome != Outcome::done) return prepared;
  prepared.call = std::make_shared<PreparedCall>(call);
  return prepared;
}

void refuse_persistent(host::Comm comm) {
  recording.refused.push_back(comm);
}

bool is_communicator_freed(const PreparedCall&) {
  return false;
}

Outcome start_prepared(const std::shared_ptr<PreparedCall>& call, const Completion& completion,
                       HostPart** host) {
  return start_collective(call->call, completion, host);
}

void begin_freeing(host::Comm comm, std::uintptr_t marks) {
  recording.ended.push_back(comm);
  recording.marks[comm] = marks;
}

void end_freeing(host::Comm comm, bool is_freed) {
  recording.freed.push_back(is_freed);
  recording.marks.erase(comm);
}

std::optional<std::uintptr_t> marks_while_freeing(host::Comm comm) {
  const auto found = recording.marks.find(comm);
  return found == recording.marks.end() ? std::nullopt : std::optional(found->second);
}

void take_part(const Call& call) {
  recording.parts.push_back(call);
}

bool has_calls_under_way() {
  return recording.has_calls_under_way;
}

bool make_progress() {
  ++recording.progress_count;
  recording.while_progressing();
  return false;
}

bool shares_cores() {
  return false;
}

void native_finished(const Call&, double seconds) {
  recording.native_seconds.push_back(seconds);
}

void hints_changed(host::Comm) {}

int compare(const Call&, int host_error) {
  ++recording.comparisons;
  return host_error;
}

bool set_algorithm(const char* text) {
  recording.algorithm = text;
  return *text != 'x';
}

std::string decision(const char* operation, std::int64_t bytes, std::optional<host::Comm>) {
  return *operation == 'x' ? std::string() : operation + std::to_string(bytes);
}

int distance(int rank, int other) {
  return 10 * rank + other;
}

double operation_time(host::Comm, const char* what, std::int64_t bytes, int buffers, const char* wait,
                      int repetitions) {
  return *what == 'x' || *wait != 0 ? -1.0 : static_cast<double>(bytes * buffers * repetitions);
}

void begin_region(const char* name) {
  recording.regions.emplace_back(name);
}

void end_region() {
  recording.regions.emplace_back();
}

void set_enabled(bool is_enabled) {
  recording.is_enabled = is_enabled;
}

bool is_profile_wanted() {
  return false;
}

const std::vector<int>* node_labels() {
  return nullptr;
}

void keep_profile(RankProfile) {}

void leave_all_to_program() {}
void meet_at_end() {}

void finish() {
  ++recording.finishes;
}

}  // namespace unisono::runtime
