// SPDX-License-Identifier: BSD-3-Clause
// The report of a job, at its end (docs/guide/report.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/messages/totals.h"
#include "runtime/reports/job_records.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

// On rank 0: to where option 'report' says, or as near as possible.
// `hints`: what the user may want to change. `messages`: what Unisono has carried of them.
void write_job_report(const World& world, std::vector<std::string> hints,
                      const std::optional<MessageTotals>& messages, const JobRecords& records);

}  // namespace unisono::runtime
