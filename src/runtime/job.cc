// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/job.h"

#include <utility>
#include <vector>

#include "runtime/job_life.h"
#include "runtime/job_parts.h"

namespace unisono::runtime {

Job::Job(host::Host& host, Options options, const std::vector<std::string>& warnings)
    : parts_(std::make_unique<JobParts>(host, std::move(options), warnings)),
      is_finished_(!parts_->world.is_open()) {
  parts_->gate.set_open(!is_finished_ && parts_->world.options.is_enabled);
  if (!is_finished_) begin_job(*parts_);
}

Job::Job(host::Host& host, Options options, Job& beside)
    : parts_(std::make_unique<JobParts>(host, std::move(options), std::vector<std::string>(),
                                        beside.parts_.get())),
      is_finished_(!parts_->world.is_open()) {
  parts_->gate.set_open(!is_finished_);
  if (!is_finished_) begin_job(*parts_);
}

Job::~Job() {
  finish();
}

void Job::finish() {
  if (!std::exchange(is_finished_, true)) end_job(*parts_);
}

bool Job::has_stepped_aside() const {
  return !parts_->world.is_open();
}

Outcome Job::collective(const Call& call, int* error) {
  return parts_->blocking.run(call, error);
}

Outcome Job::start(const Call& call, const Completion& completion, HostPart** host) {
  return parts_->started.start(call, completion, host);
}

bool Job::make_progress() {
  return parts_->progress.make();
}

// Communicators look again at which region they are in.
void Job::begin_region(const std::string& name) {
  if (!parts_->regions.are_told_apart()) return;
  parts_->regions.begin(name);
  parts_->communicators.look_again();
}

void Job::end_region() {
  if (!parts_->regions.are_told_apart()) return;
  parts_->regions.end();
  parts_->communicators.look_again();
}

bool Job::set_algorithm(const std::string& text) {
  if (!parts_->decisions.force(text)) return false;
  parts_->set_up.serve_all();
  const std::vector<Communicator*> all = parts_->communicators.all();
  const LockGuard lock(parts_->queues.mutex());
  for (Communicator* c : all) {
    for (int op = 0; op < operation_count; ++op)
      parts_->decisions.decide_anew(*c, static_cast<Operation>(op), [](const CallClass&) { return true; });
  }
  return true;
}

std::optional<tuning::Choice> Job::decision(Operation operation, std::int64_t bytes,
                                            std::optional<host::Comm> handle, bool is_blocking) {
  Communicator* c = parts_->communicators.find_known(handle.value_or(parts_->world.host.world()));
  if (c == nullptr || c->native_reason != NativeReason::none) return std::nullopt;
  return parts_->learning.choice_for(*c, operation, bytes, is_blocking);
}

std::optional<CrashFacts> Job::crash_facts() const {
  return parts_->gate.is_open() ? runtime::crash_facts(parts_->world, parts_->own_crash) : std::nullopt;
}

}  // namespace unisono::runtime
