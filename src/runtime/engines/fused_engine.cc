// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/fused_engine.h"

namespace unisono::runtime {

void run_fused(Communicator& c, const Call& call, const void* input, void* output, bool is_in_place,
               const FusedSize& size) {
  shm::Slice& slice = *c.node.slice;
  const void* from = is_in_place ? output : input;
  const std::size_t own = size.bytes * static_cast<std::size_t>(c.rank);
  const auto own_block = [&](const void* blocks) { return static_cast<const char*>(blocks) + own; };
  switch (call.operation) {
    case Operation::barrier:
      slice.barrier();
      break;
    case Operation::bcast:
      slice.bcast(output, size.bytes, call.root);
      break;
    case Operation::reduce:
      slice.reduce(output, from, size.elements, size.combine, call.root);
      break;
    case Operation::allreduce:
      slice.allreduce(output, from, size.elements, size.combine);
      break;
    case Operation::gather:
      slice.gather(output, is_in_place ? own_block(output) : input, size.bytes, call.root);
      break;
    case Operation::scatter:
      if (is_in_place) output = const_cast<char*>(own_block(input));
      slice.scatter(output, input, size.bytes, call.root);
      break;
    case Operation::allgather:
      slice.allgather(output, is_in_place ? own_block(output) : input, size.bytes);
      break;
    case Operation::alltoall:
      slice.alltoall(output, from, size.bytes);
      break;
    case Operation::reduce_scatter_block:
      slice.reduce_scatter(output, from, size.elements, size.combine);
      break;
    case Operation::scan:
      slice.scan(output, from, size.elements, size.combine);
      break;
    case Operation::exscan:
      slice.exscan(output, from, size.elements, size.combine);
      break;
    default:
      break;  // uneven blocks: uneven_blocks.cc, neighbor_lines.cc, schedules
  }
}

// The arguments as run_fused() gives them.
shm::FusedCall FusedSlots::fused_call(const Run& run) {
  const Transfer& transfer = *run.transfer;
  const FusedSize size = fused_size(run.arguments.extent, run.data.combine);
  const Operation operation = run.call.operation;
  const bool is_in_place = transfer.is_in_place();
  const std::size_t own = size.bytes * static_cast<std::size_t>(run.communicator->rank);
  void* into = transfer.output();
  const void* from = is_in_place ? into : transfer.input();
  if (is_in_place && (operation == Operation::gather || operation == Operation::allgather))
    from = static_cast<const char*>(from) + own;
  if (operation == Operation::scatter) {
    from = transfer.input();
    if (is_in_place) into = const_cast<char*>(static_cast<const char*>(from)) + own;
  }
  return {.operation = operation,
          .into = into,
          .from = from,
          .bytes = moves_data(operation) ? size.bytes : 0,
          .count = size.elements,
          .combine = size.combine,
          .root = run.call.root};
}

int FusedSlots::start(Run& run) const {
  run.stage = Run::Stage::waiting;
  run.header = run.compiled = nullptr;
  const int error = pack(run);
  if (error == host::success) make_operator(run);
  return error;
}

bool FusedSlots::poll(Run& run) const {
  if (!run.is_blocking) {
    shm::Slice& slice = *run.work->slice;
    const shm::FusedCall call = fused_call(run);
    if (run.stage == Run::Stage::waiting) {
      if (!slice.start_fused(call)) return false;
      run.stage = Run::Stage::in_blocks;
    }
    return slice.end_fused(call);
  }
  const Transfer& transfer = *run.transfer;
  run_fused(*run.communicator, run.call, transfer.input(), transfer.output(), transfer.is_in_place(),
            fused_size(run.arguments.extent, run.data.combine));
  return true;
}

}  // namespace unisono::runtime
