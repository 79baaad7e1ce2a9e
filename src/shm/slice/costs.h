// SPDX-License-Identifier: BSD-3-Clause
// What the operations on the node's shared memory cost, measured by the ranks that share it (A9, section
// 5.3.1), on the slice that serves their collectives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shm/slice/slice.h"

namespace unisono::shm {

enum class Measured : std::uint8_t {
  put,            // sender_put: own memory to slot; local rank 0
  get,            // receiver_get, or with several readers group_get: slot to own memory; all others
  pipeline,       // a piece that goes through `buffers` slots from local rank 0 to all others, as a whole
  pair_sync,      // a flag there, of half a round trip between local ranks 0 and 1
  group_sync,     // everyone raises its flag and waits for all
  group_seg_put,  // everyone writes its part of one slot
  group_seg_get,  // everyone reads its part of one slot
  signal,         // raising the own flag
  await,          // looking at one flag that is up
  copy,           // inside the own memory; local rank 0 alone
  copy_by_all,    // the same, all at once
  combine,        // two vectors of the own memory joined (sum of doubles); local rank 0 alone
  single_copy,    // out of local rank 0's memory by the kernel; local rank 1
  barrier,        // fused operations; every rank
  bcast,
  allreduce,
};
std::string_view name(Measured what);
std::optional<Measured> measured_from_name(std::string_view name);

struct Measurement {
  Measured what = Measured::barrier;
  std::size_t bytes = 0;  // of a piece or message; of a slot that all share the whole
  int buffers = 4;        // slots that pieces go through in turn
  int repetitions = 1;
};

// All local ranks call it alike. Returns this rank's mean time of one repetition in seconds. It is less than
// 0 where this rank has no part in that, where not so many bytes fit, or where the kernel refuses (single
// copy). The first repetitions do not count. Reading the clock is taken off.
double measure(Slice& slice, const Measurement& measurement);

}  // namespace unisono::shm
