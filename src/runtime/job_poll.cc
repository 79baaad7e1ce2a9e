// SPDX-License-Identifier: BSD-3-Clause
// One step of a call that does not block, on any thread. Functions of the program may run in it: its
// operators, which we call, and those of its calls that the host makes, wherever the host makes progress. A
// program may hold a lock around its calls that its operator takes too. So they run in threads of the program
// alone, as natively, and no lock is held around them that another thread of the program waits for.
#include "runtime/job.h"

namespace unisono::runtime {
namespace {

// Without the lock for a while. Nobody else touches the communicator's first call.
class PolledApart {
 public:
  PolledApart(std::unique_lock<std::mutex>* lock, CallQueue* queue) : lock_(lock), queue_(queue) {
    queue_->is_polled_apart = true;
    lock_->unlock();
  }
  ~PolledApart() {
    lock_->lock();
    queue_->is_polled_apart = false;
  }
  PolledApart(const PolledApart&) = delete;
  PolledApart& operator=(const PolledApart&) = delete;

 private:
  std::unique_lock<std::mutex>* lock_;
  CallQueue* queue_;
};

}  // namespace

// Persistent calls are not among them: they match by their initialisation, which not every host does, and
// must go on while the program is in the host. So any thread runs theirs, without a lock.
bool Job::is_of_program_alone(const Call& call) const {
  return thread_ != nullptr && !call.is_persistent && is_reduction(call.operation) &&
         host_.reduce_op(call.op) == ReduceOp::host;
}

// Of a reduction, on all ranks alike. The program's operators cannot run aside of its threads, and calls must
// go on while those are in the host: so the host makes them. Where the order of operands counts for more,
// Unisono does, with the program's threads alone.
bool Job::is_left_for_operator(const Communicator& c, const Call& call, host::Datatype type) const {
  if (may_call_host_aside_) return is_of_program_alone(call) && !c.is_reproducible;
  return kernel_combine(host_, call.op, type, type_info(host_, type)).call == nullptr;
}

bool Job::may_call_program(const StartedCall& call) {
  switch (call.state) {
    case StartedCall::State::in_agreement:
      return schedule::has_messages(*call.communicator->queue->agreeing);
    case StartedCall::State::in_header:
      return schedule::has_messages(*call.header);
    default:
      return schedule::has_messages(*call.compiled) || (call.op && call.op->is_applied_by_host());
  }
}

// True where all its steps are done.
bool Job::poll(StartedCall* call, Lock* lock) {
  const FloatControlForNow like_starter(call->float_control);
  if (!may_call_program(*call)) return call->work.executor.poll();
  const PolledApart apart(lock, call->communicator->queue.get());
  return call->work.executor.poll();
}

}  // namespace unisono::runtime
