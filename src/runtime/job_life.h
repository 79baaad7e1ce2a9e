// SPDX-License-Identifier: BSD-3-Clause
// How a job begins and ends. Both are collective over the host's world, and come once for each Job that has
// not stepped aside.
#pragma once

namespace unisono::runtime {

struct JobParts;

void begin_job(JobParts& parts);
void end_job(JobParts& parts);

}  // namespace unisono::runtime
