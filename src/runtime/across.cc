// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/across.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/options.h"
#include "runtime/job_parts.h"

namespace unisono::runtime {
namespace {

// What is the program's job's alone is left out.
Options options_across() {
  std::vector<std::string> said_elsewhere;
  Options options = read_options(Environment::of_process(), &said_elsewhere);
  options.is_enabled = true;
  options.report.clear();
  options.record_messages.clear();
  options.nodes.clear();
  options.agents = "0";
  options.messages = "off";
  options.verify = "off";
  options.progress = "calls";
  options.is_profiled = false;
  options.watches_crashes = false;
  options.learn_groups = false;
  return options;
}

}  // namespace

std::vector<AcrossJobs::Freed>::iterator AcrossJobs::freed_here(Handle handle) {
  return std::ranges::find_if(freed_, [handle](const Freed& one) {
    return one.handle == handle && one.by == std::this_thread::get_id();
  });
}

Job* AcrossJobs::find(host::Comm comm) const {
  const auto handle = static_cast<Handle>(comm);
  const LockGuard lock(mutex_);
  for (const Freed& one : freed_) {
    if (one.handle == handle && one.by == std::this_thread::get_id()) return one.served->job.get();
  }
  const auto found = served_.find(handle);
  return found == served_.end() ? nullptr : found->second->job.get();
}

void AcrossJobs::add(std::unique_ptr<host::Host> host, Job& beside) {
  auto served = std::make_shared<Served>();
  served->host = std::move(host);
  served->job = std::make_unique<Job>(*served->host, options_across(), beside);
  if (served->job->has_stepped_aside()) return;
  const auto handle = static_cast<Handle>(served->host->world());
  const LockGuard lock(mutex_);
  served_[handle] = std::move(served);
  ++count_;
}

void AcrossJobs::inherit(host::Comm of, host::Comm made) {
  const LockGuard lock(mutex_);
  const auto found = served_.find(static_cast<Handle>(of));
  if (found == served_.end() || found->second->host->is_intercommunicator(made)) return;
  served_[static_cast<Handle>(made)] = found->second;
  ++count_;
}

void AcrossJobs::begin_freeing(host::Comm comm) {
  const auto handle = static_cast<Handle>(comm);
  const LockGuard lock(mutex_);
  const auto found = served_.find(handle);
  if (found == served_.end()) return;
  freed_.push_back({std::this_thread::get_id(), handle, std::move(found->second)});
  served_.erase(found);
}

void AcrossJobs::end_freeing(host::Comm comm, bool is_freed) {
  std::shared_ptr<Served> ending;  // behind the lock, which is declared after it
  const LockGuard lock(mutex_);
  const auto found = freed_here(static_cast<Handle>(comm));
  if (found == freed_.end()) return;
  ending = std::move(found->served);
  freed_.erase(found);
  if (is_freed) {
    --count_;
  } else {
    served_[static_cast<Handle>(comm)] = std::move(ending);
  }
}

void AcrossJobs::clear() {
  std::map<Handle, std::shared_ptr<Served>> ending;
  {
    const LockGuard lock(mutex_);
    ending.swap(served_);
    count_ = 0;
  }
}

}  // namespace unisono::runtime
