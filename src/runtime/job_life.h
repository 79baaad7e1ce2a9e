// SPDX-License-Identifier: BSD-3-Clause
// How a job begins and ends. All are collective over the host's world, and come once for each Job that has
// not stepped aside.
#pragma once

#include <cstdint>

namespace unisono::runtime {

struct JobParts;

void begin_job(JobParts& parts);
// All ranks' programs have done all that they do, and calls of theirs went on until then.
void meet_at_end(JobParts& parts);
void end_job(JobParts& parts);

// What this process has had spawned, as the root of such calls.
struct SpawnedProcesses {
  std::uint64_t calls = 0, processes = 0;
};
SpawnedProcesses spawned_processes();

}  // namespace unisono::runtime
