// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/calls/program_operators.h"

#include "runtime/packing/transfer.h"

namespace unisono::runtime {
namespace {

// While the lock is given up nobody else touches the communicator's first call.
class PolledApart {
 public:
  explicit PolledApart(CallQueue* queue) UNISONO_REQUIRES(held_queues) : queue_(queue) {
    queue_->is_polled_apart = true;
  }
  ~PolledApart() UNISONO_REQUIRES(held_queues) { queue_->is_polled_apart = false; }
  PolledApart(const PolledApart&) = delete;
  PolledApart& operator=(const PolledApart&) = delete;

 private:
  CallQueue* queue_;
};

// By what the next step runs.
bool may_call_program(const StartedCall& call) UNISONO_REQUIRES(held_queues) {
  if (call.agreement == StartedCall::Agreement::under_way)
    return schedule::has_messages(*call.communicator->queue->agreeing);
  if (call.entry->kind == CallClass::Kind::by_agents) return false;
  const bool is_before_blocks = call.stage == Run::Stage::waiting || call.stage == Run::Stage::in_header;
  if (is_before_blocks && call.header != nullptr) return schedule::has_messages(*call.header);
  const bool has_messages = call.compiled != nullptr && schedule::has_messages(*call.compiled);
  return has_messages || (call.op && call.op->is_applied_by_host());
}

}  // namespace

// Persistent calls are not among them: they match by their initialisation, which not every host does, and
// must go on while the program is in the host. So any thread runs theirs, without a lock.
bool is_of_program_alone(const World& world, const Progress& progress, const Call& call) {
  return progress.has_thread() && !call.is_persistent && is_reduction(call.operation) &&
         world.host.reduce_op(call.op) == ReduceOp::host;
}

// Of a reduction, on all ranks alike. The program's operators cannot run aside of its threads, and calls must
// go on while those are in the host: so the host makes them. Where the order of operands counts for more,
// Unisono does, with the program's threads alone.
bool is_left_for_operator(const World& world, const Progress& progress, const Communicator& c,
                          const Call& call, host::Datatype type) {
  if (world.may_call_host_aside) return is_of_program_alone(world, progress, call) && !c.is_reproducible;
  return kernel_combine(world.host, call.op, type, type_info(world.host, type)).call == nullptr;
}

bool poll_step(const Engine& engine, StartedCall* call, QueuesLock& queues) {
  const FloatControlForNow like_starter(call->float_control);
  const auto poll = [&] {
    const bool is_agreement = call->agreement == StartedCall::Agreement::under_way;
    return is_agreement ? call->work->executor.poll() : engine.poll(*call);
  };
  if (!may_call_program(*call)) return poll();
  const PolledApart apart(call->communicator->queue.get());
  const GivenUp given_up(queues.mutex());
  return poll();
}

}  // namespace unisono::runtime
