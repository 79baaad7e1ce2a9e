// SPDX-License-Identifier: BSD-3-Clause
// What the report says that one has to know of messages that Unisono has carried.
#pragma once

#include <string>
#include <vector>

#include "runtime/messages/totals.h"

namespace unisono::runtime {

// None where there were no messages.
inline std::vector<std::string> hints_of(const MessageTotals& messages) {
  if (messages.sent == 0) return {};
  std::vector<std::string> hints = {
      "MPI_T and debuggers' message queues do not show messages that Unisono carries (option 'messages')"};
  // By what docs/figures/messages.md has measured.
  if (messages.are_between_nodes) {
    hints.emplace_back(
        "messages between nodes may take up to 1.7 times as long where queues are short (option 'messages')");
  }
  return hints;
}

}  // namespace unisono::runtime
