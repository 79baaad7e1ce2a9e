// SPDX-License-Identifier: BSD-3-Clause
// Whether Unisono carries the messages of nodes where the user leaves that open (messages = auto). M10.
#pragma once

#include <string>

namespace unisono::runtime {

struct AutoChoice {
  bool is_carried = false;
  const char* why = "";  // a clause
};

// By what docs/figures/messages.md has measured. `mpi`: as Host::library_name() says. `shares_cores`: some
// node has more ranks than cores. `takes_device_memory`: the program uses GPUs.
AutoChoice choose_messages(const std::string& mpi, bool shares_cores, bool takes_device_memory);
// Does the MPI let a standard send of any length end before its receive begins?
bool sends_all_at_once(const std::string& mpi);

}  // namespace unisono::runtime
