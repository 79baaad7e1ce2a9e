// SPDX-License-Identifier: BSD-3-Clause
// Which calls agents make, and why not the others: asked by ranks, and by who explains it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types.h"

namespace unisono::agents {

// `is_plain`: of a reduction, its operator is one of MPI's that agents know, and its type is too.
struct AskedCall {
  Operation operation = Operation::barrier;
  std::int64_t bytes = 0;
  bool is_persistent = false, is_checked = false, is_reproducible = false, is_plain = true;
};

constexpr bool is_served(Operation operation) {
  return operation == Operation::allreduce || operation == Operation::reduce ||
         operation == Operation::bcast || operation == Operation::barrier;
}

// Null where agents that are there make such a call; else why not, behind "agents do not serve it: ".
const char* why_not_served(const AskedCall& call);
// The same as a clause behind the name of algorithm `agents`.
inline std::string refusal(std::string_view why) {
  return "does not serve the call: " + std::string(why);
}

}  // namespace unisono::agents
