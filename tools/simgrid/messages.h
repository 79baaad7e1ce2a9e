// SPDX-License-Identifier: BSD-3-Clause
// What messages cost on the platform, found by messages alone, as `unisono machine measure` does.
#pragma once

#include <cstdint>

namespace unisono::simgrid {

// Microseconds of virtual time, as docs/reference/machine-format.md has them.
struct MessageTimes {
  double half_us = 0;     // of a ping-pong
  double send_us = 0;     // until MPI_Isend returns
  double receive_us = 0;  // MPI_Recv of a message that is there
  double gap_us = 0;      // between messages of a burst
};

// Collective. Messages of `bytes` from rank `from` to rank `to`; the others wait. Right on rank `from`, but
// for `receive_us`, which rank 0 and `from` get from the receiver.
MessageTimes time_messages(int from, int to, std::int64_t bytes);
// Collective. Every rank r sends `bytes` to r + distance, all at once: microseconds until all are done.
double time_shift(int distance, std::int64_t bytes);

}  // namespace unisono::simgrid
