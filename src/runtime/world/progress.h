// SPDX-License-Identifier: BSD-3-Clause
// What goes on while the program is elsewhere: calls that do not block, and whatever else joins. The program
// lets it go on wherever it comes by, and a thread of Unisono's does where the program stays away.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/world/progress_thread.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {

class Progress {
 public:
  // Something that goes on in steps, none of which waits. Any thread may ask, also several at once.
  class Source {
   public:
    virtual ~Source() = default;
    // On a thread of the program. True where something has ended.
    virtual bool advance() = 0;
    // On the thread beside the program, where not all may be done. True where something went on.
    virtual bool advance_aside() = 0;
  };

  // `whole`: what is let go on as well whenever this is, where nothing is ever under way here.
  explicit Progress(Progress* whole = nullptr) : whole_(whole) {}
  Progress(const Progress&) = delete;
  // Before anything is under way, or where no other thread makes progress.
  void join(Source& source) { sources_.push_back(&source); }
  // From now on the thread beside the program looks after what is under way; from stop() on nobody does.
  void start_thread() { start_thread_for(nullptr); }
  // After this source alone: all others go on where the program comes by.
  void start_thread_for(Source* only);
  void stop() { thread_.reset(); }
  // One that looks after all? Ranks decide by it, and come to stop() at different calls: it stays true.
  bool has_thread() const { return has_thread_; }

  // One thing more is under way, so many fewer are. Those that have come to their end but for what the
  // program's threads have to do need the thread no more.
  void add(bool needs_thread = true);
  void leave_to_program();
  void remove(int count) { under_way_.fetch_sub(count, std::memory_order_release); }
  int under_way() const { return under_way_.load(std::memory_order_relaxed); }

  // The program lets a source go on by itself: the thread may sleep on.
  void came_by() {
    if (thread_ != nullptr) thread_->program_came_by();
  }
  // Lets all go on. True where something has ended. A source that comes back to this finds nothing to do.
  bool make();

 private:
  bool make_aside();

  Progress* whole_;
  std::vector<Source*> sources_;
  const Source* only_ = nullptr;  // the thread's; null: all are
  bool has_thread_ = false;
  std::atomic<int> under_way_{0};
  std::unique_ptr<ProgressThread> thread_;
};

}  // namespace unisono::runtime
