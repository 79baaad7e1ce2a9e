// SPDX-License-Identifier: BSD-3-Clause
// What the program's messages came to that Unisono carried, for reports.
#pragma once

#include <algorithm>
#include <cstdint>

namespace unisono::runtime {

struct MessageTotals {
  // Of all ranks; of those of a node how many had their data carried by the host.
  std::uint64_t sent = 0, by_host = 0;
  // Of the rank that had most: receives and messages that waited at one time, of one communicator; and bytes
  // of messages that waited.
  std::uint64_t deepest_posted = 0, deepest_unexpected = 0;
  std::uint64_t most_unexpected_bytes = 0;
  // How often a rank has asked its senders to wait, since too many bytes waited.
  std::uint64_t floods = 0;
  bool are_between_nodes = false;  // those between nodes were carried as well

  void note_depths(std::uint64_t posted, std::uint64_t unexpected) {
    deepest_posted = std::max(deepest_posted, posted);
    deepest_unexpected = std::max(deepest_unexpected, unexpected);
  }
};

}  // namespace unisono::runtime
