// SPDX-License-Identifier: BSD-3-Clause
// A communicator's non-blocking calls. They run one after the other, in the order in which the program made
// them, which is the same on all ranks: so the node's flags and the tags of messages serve them as they serve
// blocking calls.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/runtime.h"
#include "runtime/transfer.h"

namespace unisono::runtime {

// From the program's call until its request is complete.
struct StartedCall {
  Call call;
  Completion completion;
  Communicator* communicator = nullptr;
  CallClass* entry = nullptr;
  std::int64_t bytes = 0;  // that decide
  bool is_commutative = true;
  double start_s = 0;
  Arguments arguments;
  std::optional<Transfer> transfer;  // not of uneven blocks, which work.blocks transfers
  std::optional<Operator> op;
  Workspace work;
  // What runs: first the header, where ranks must tell each other of their blocks.
  std::shared_ptr<const schedule::Compiled> header, compiled;
  schedule::Data header_data, data;
  enum class State : std::uint8_t { waiting, in_header, in_blocks } state = State::waiting;
  int error = host::success;
};

struct CallQueue {
  std::atomic<int> under_way{0};
  OperationTables classes;
  std::deque<std::unique_ptr<StartedCall>> calls;
  // Those that are over, with their memory: a repeated call allocates nothing.
  std::vector<std::unique_ptr<StartedCall>> spare;
};

}  // namespace unisono::runtime
