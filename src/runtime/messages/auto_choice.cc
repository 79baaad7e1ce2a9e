// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/auto_choice.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace unisono::runtime {

namespace {

// "Open MPI 5.0.11" is at least version 5 of "Open MPI ".
bool is_at_least(int least, const std::string& mpi, std::string_view prefix) {
  int major = 0;
  return mpi.starts_with(prefix) &&
         std::from_chars(mpi.data() + prefix.size(), mpi.data() + mpi.size(), major).ec == std::errc() &&
         major >= least;
}

}  // namespace

AutoChoice choose_messages(const std::string& mpi, bool shares_cores, bool takes_device_memory) {
  if (takes_device_memory) return {.why = "the program uses GPUs, whose memory would be copied twice"};
  if (is_at_least(5, mpi, "MPICH "))
    return {.is_carried = true, .why = "MPICH's own take longer at all lengths"};
  if (mpi.starts_with("MPICH ")) return {.why = "those of MPICH before 5 are twice as fast at 256 bytes"};
  if (is_at_least(5, mpi, "Open MPI ")) {
    if (shares_cores) return {.why = "short messages gain nothing with more ranks than cores"};
    return {.is_carried = true, .why = "Open MPI's own take longer from 1 KiB on, and with long queues"};
  }
  if (mpi.starts_with("Open MPI "))
    return {.why = "those of Open MPI before 5 are twice as fast at 256 bytes"};
  if (mpi.starts_with("Intel MPI ")) return {.why = "Intel MPI's own are faster from 16 KiB to 1 MiB"};
  return {.why = "nobody has compared them with this MPI's own"};
}

// Intel MPI 2021 does so inside a node: 64 MiB, and 40 MiB of forty messages, with nobody who receives.
bool sends_all_at_once(const std::string& mpi) {
  return mpi.starts_with("Intel MPI ");
}

}  // namespace unisono::runtime
