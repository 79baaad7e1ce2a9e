// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/schedule_engine.h"

#include "schedule/compiled.h"

namespace unisono::runtime {

// The program's input is read now (it must not change it, but may free its datatype). What comes later calls
// the host no more, until the call is over.
int ScheduleEngine::start(Run& run) const {
  Communicator& c = *run.communicator;
  Workspace& work = *run.work;
  run.stage = Run::Stage::waiting;
  run.header = nullptr;
  run.data = {};
  run.op.reset();
  run.transfer.reset();
  if (is_neighborhood(run.call.operation)) {
    run.compiled = Schedules::compiled(c, *run.entry, run.call, false, true);
    const int error =
        work.neighbors.prepare(world_.host, *run.compiled, &run.data, &work.packed_input, &work.packed_output,
                               run.packing == BlockTransfer::Packing::apart);
    if (error != host::success) return error;
    run.header = Schedules::header(c, *run.entry, run.call, run.is_blocking, &work, &run.header_data);
  } else if (has_uneven_blocks(run.call.operation)) {
    run.compiled =
        Schedules::compiled(c, *run.entry, run.call, work.blocks.is_in_place(), run.is_commutative);
    const int error = work.blocks.prepare(world_.host, run.call, *run.compiled, &run.data, &work.packed_input,
                                          &work.packed_output, run.packing);
    if (error != host::success) return error;
    run.header = Schedules::header(c, *run.entry, run.call, run.is_blocking, &work, &run.header_data);
  } else {
    const int error = pack(run);
    if (error != host::success) return error;
    run.compiled =
        Schedules::compiled(c, *run.entry, run.call, run.transfer->is_in_place(), run.is_commutative);
  }
  make_operator(run);
  return host::success;
}

void ScheduleEngine::learn_blocks(Run& run) const {
  if (!has_uneven_blocks(run.call.operation)) return;
  if (is_neighborhood(run.call.operation)) {
    Communicator& c = *run.communicator;
    const bool is_short = run.work->neighbors.learn(
        c.node.neighborhood->limits(*run.compiled, run.call.operation), run.work->told, &run.data);
    if (is_short && run.compiled->of_short != nullptr) run.compiled = run.compiled->of_short;
    return;
  }
  Schedules::learn_blocks(*run.communicator, *run.algorithm, run.call, run.work);
  run.data.elements = run.work->blocks.longest();
}

bool ScheduleEngine::run_whole(Run& run) const {
  Communicator& c = *run.communicator;
  if (run.header != nullptr) run.error = schedules_.execute(c, *run.header, run.header_data);
  if (run.error != host::success) return true;
  learn_blocks(run);
  run.error = schedules_.execute(c, *run.compiled, run.data);
  return true;
}

// What may run in a step depends on the stage: the caller is asked again between two.
bool ScheduleEngine::poll(Run& run) const {
  if (run.is_blocking) return run_whole(run);
  schedule::Executor& executor = run.work->executor;
  if (run.stage == Run::Stage::waiting && run.header != nullptr) {
    run.stage = Run::Stage::in_header;
    executor.start(*run.header, schedules_.ground_of_started(run), run.header_data);
  } else if (run.stage != Run::Stage::in_header && run.stage != Run::Stage::in_blocks) {
    learn_blocks(run);
    run.stage = Run::Stage::in_blocks;
    executor.start(*run.compiled, schedules_.ground_of_started(run), run.data);
  }
  if (!executor.poll()) return false;
  run.error = executor.finish();
  if (run.stage == Run::Stage::in_blocks || run.error != host::success) return true;
  run.stage = Run::Stage::after_header;
  return false;
}

}  // namespace unisono::runtime
