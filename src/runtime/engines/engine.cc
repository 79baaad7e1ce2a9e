// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/engine.h"

namespace unisono::runtime {

int Engine::pack(Run& run) const {
  Workspace& work = *run.work;
  const Communicator& c = *run.communicator;
  Transfer& transfer = run.transfer.emplace(world_.host, run.call, run.arguments, c.rank, c.size,
                                            &work.packed_input, &work.packed_output);
  const int error = transfer.prepare(run.packing == BlockTransfer::Packing::apart);
  if (error != host::success) return error;
  run.data = {.input = transfer.input(),
              .output = transfer.output(),
              .elements = run.arguments.extent.elements,
              .element_bytes = run.arguments.extent.element_bytes};
  return host::success;
}

void Engine::make_operator(Run& run) const {
  if (!is_reduction(run.call.operation)) return;
  const host::Datatype type = operand_type(run.call);
  Operator& op = run.op.emplace(world_.host, Operator::Handles{type, run.call.op},
                                type_info(world_.host, type), run.is_commutative);
  run.data.combine = op.combine();
}

int Engine::finish(Run& run) const {
  if (run.error == host::success && run.op) run.error = run.op->error();
  if (run.error == host::success && is_neighborhood(run.call.operation))
    run.error = run.work->neighbors.deliver(world_.host, run.work->packed_output);
  else if (run.error == host::success)
    run.error = run.transfer ? run.transfer->deliver()
                             : run.work->blocks.deliver(world_.host, run.work->packed_output);
  return run.error;
}

}  // namespace unisono::runtime
