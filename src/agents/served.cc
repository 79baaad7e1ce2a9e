// SPDX-License-Identifier: BSD-3-Clause
#include "agents/served.h"

#include "agents/rank_channel.h"

namespace unisono::agents {

const char* why_not_served(const AskedCall& call) {
  if (!is_served(call.operation)) return "they serve allreduce, reduce, bcast and barrier alone";
  if (call.is_persistent) return "it is persistent";
  if (call.is_checked) return "it is checked (option verify)";
  if (call.bytes > static_cast<std::int64_t>(most_bytes)) return "it has more than 32 KiB";
  if (!is_reduction(call.operation)) return nullptr;
  if (call.is_reproducible) return "it is reproducible, and agents join in an order of their own";
  return call.is_plain ? nullptr : "its operator or its type is none that they compute with";
}

}  // namespace unisono::agents
