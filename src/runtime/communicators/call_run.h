// SPDX-License-Identifier: BSD-3-Clause
// One call on its way through an engine (engines/engine.h), blocking or not.
#pragma once

#include <memory>
#include <optional>

#include "runtime/communicators/communicator.h"
#include "runtime/packing/transfer.h"

namespace unisono::runtime {

class Engine;

struct Run {
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Call call;
  Communicator* communicator = nullptr;
  CallClass* entry = nullptr;
  // What was decided, which the program may change meanwhile (unisono_set_algorithm).
  const algorithms::Descriptor* algorithm = nullptr;
  const Engine* engine = nullptr;  // of calls that do not block: what has begun goes on with it
  std::int64_t bytes = 0;          // that decide
  bool is_commutative = true;
  bool is_blocking = true;
  Workspace* work = nullptr;
  int error = host::success;

  // What the engine has made of it. Of uneven blocks work->blocks has what the call says.
  Arguments arguments;
  BlockTransfer::Packing packing = BlockTransfer::Packing::as_needed;
  std::optional<Transfer> transfer;
  std::optional<Operator> op;
  // What runs: first the header, where ranks must tell each other of their blocks.
  std::shared_ptr<const schedule::Compiled> header, compiled;
  schedule::Data header_data, data;
  // Of calls that agents make: the number of the post, 0: it has not come to that. For the report, when the
  // agent has answered, ticks (0: not asked), and what was seen of the call's time.
  struct {
    std::uint64_t number = 0;
    agents::Descriptor what;
    std::uint64_t answered = 0;
    AgentTimes times;
  } by_agents;
  enum class Stage : std::uint8_t { waiting, in_header, after_header, in_blocks } stage = Stage::waiting;
};

// The type of what a reduction joins.
inline host::Datatype operand_type(const Call& call) {
  return has_uneven_blocks(call.operation) ? call.send_blocks.type : call.send_type;
}

}  // namespace unisono::runtime
