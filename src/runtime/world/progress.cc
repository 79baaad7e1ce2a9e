// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/progress.h"

#include "runtime/call/this_thread.h"

namespace unisono::runtime {
namespace {

class MakingProgress {
 public:
  MakingProgress() { this_thread.is_making_progress = true; }
  ~MakingProgress() { this_thread.is_making_progress = false; }
  MakingProgress(const MakingProgress&) = delete;
  MakingProgress& operator=(const MakingProgress&) = delete;
};

}  // namespace

void Progress::start_thread_for(Source* only) {
  only_ = only;
  has_thread_ = only == nullptr;
  thread_ = std::make_unique<ProgressThread>(ProgressThread::Work{
      [](void* progress) { return static_cast<Progress*>(progress)->make_aside(); }, this});
}

void Progress::add(bool needs_thread) {
  under_way_.fetch_add(1, std::memory_order_relaxed);
  if (needs_thread && thread_ != nullptr) thread_->add();
}

void Progress::leave_to_program() {
  if (thread_ != nullptr) thread_->remove();
}

bool Progress::make() {
  if (whole_ != nullptr) return whole_->make();
  if (under_way() == 0 || this_thread.is_making_progress) return false;
  const MakingProgress guard;
  if (thread_ != nullptr) thread_->program_came_by();
  bool has_ended = false;
  for (Source* source : sources_) has_ended = source->advance() || has_ended;
  return has_ended;
}

bool Progress::make_aside() {
  if (this_thread.is_making_progress) return false;
  const MakingProgress guard;
  bool has_gone_on = false;
  for (Source* source : sources_) {
    if (only_ == nullptr || source == only_) has_gone_on = source->advance_aside() || has_gone_on;
  }
  return has_gone_on;
}

}  // namespace unisono::runtime
