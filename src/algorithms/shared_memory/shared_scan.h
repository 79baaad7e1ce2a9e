// SPDX-License-Identifier: BSD-3-Clause
// A node's scans through a channel: `problem` is one node's with two ranks or more. Always one stage.
#pragma once

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

schedule::Program shared_scan(const schedule::Problem& problem, const Parameters& parameters);
// `total`: where the last rank is to have what all have joined; an empty run: nowhere.
schedule::Program shared_exscan(const schedule::Problem& problem, const Parameters& parameters,
                                const schedule::Ref& total);

}  // namespace unisono::algorithms
