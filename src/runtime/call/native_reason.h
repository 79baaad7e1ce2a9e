// SPDX-License-Identifier: BSD-3-Clause
// Why calls on a communicator go to the host MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unisono::runtime {

enum class NativeReason : std::uint8_t {
  none,
  disabled,
  intercommunicator,
  one_rank,
  outside_world,
  no_identifier,
  set_up_failed,
  few_calls,
  being_set_up,
  not_set_up,
  operator_aside,
  of_session,
  no_place,
  peer_lost,
  device_memory,
  few_neighbor_calls,
  inconsistent_graph,
  arguments,
  datatype,
  undefined_operator
};
inline constexpr std::size_t native_reason_count =
    1 + static_cast<std::size_t>(NativeReason::undefined_operator);

constexpr std::string_view describe(NativeReason reason) {
  switch (reason) {
    case NativeReason::none:
      return "";
    case NativeReason::disabled:
      return "Unisono was switched off (option 'enable', or by the program)";
    case NativeReason::intercommunicator:
      return "intercommunicators are left to the MPI";
    case NativeReason::one_rank:
      return "the communicator has one rank";
    case NativeReason::outside_world:
      return "the communicator holds processes outside this program's MPI_COMM_WORLD";
    case NativeReason::no_identifier:
      return "too many communicators are in use at once";
    case NativeReason::set_up_failed:
      return "the set-up of the communicator failed on a rank";
    case NativeReason::few_calls:
      return "the communicator's first calls: a set-up does not pay yet (option 'set_up_after')";
    case NativeReason::being_set_up:
      return "non-blocking calls while their communicator was being set up";
    case NativeReason::not_set_up:
      return "non-blocking calls before a blocking one has set up the communicator, which they can "
             "themselves inside a node alone, and not with option 'verify' (or option 'set_up_early')";
    case NativeReason::operator_aside:
      return "non-blocking calls with an operator of the program's own, which is for its threads alone, or "
             "with any other that the MPI alone applies, without MPI_THREAD_MULTIPLE";
    case NativeReason::of_session:
      return "non-blocking and persistent calls on a session's communicator, which MPI_Finalize does not end";
    case NativeReason::no_place:
      return "persistent calls for which there was no room (option 'pool_bytes'), or no tags";
    case NativeReason::peer_lost:
      return "a rank of the communicator has died";
    case NativeReason::few_neighbor_calls:
      return "the first calls of neighbours on a communicator: a set-up does not pay yet (option "
             "'set_up_after')";
    case NativeReason::inconsistent_graph:
      return "ranks describe the graph of a communicator differently: an edge is there at one of its ends "
             "alone";
    case NativeReason::arguments:
      return "arguments that the MPI has to judge, such as wrong ones or equal buffers";
    case NativeReason::datatype:
      return "a datatype of which the MPI tells nothing";
    case NativeReason::undefined_operator:
      return "an operator that the MPI does not apply to the datatype";
    case NativeReason::device_memory:
      return "all ranks use GPUs, whose memory the MPI takes as it is (option 'algorithm' decides otherwise)";
  }
  return "";
}

}  // namespace unisono::runtime
