// SPDX-License-Identifier: BSD-3-Clause
// What is left of any operation where one rank makes it.
#pragma once

#include "schedule/program.h"

namespace unisono::algorithms {

// The only rank of its group: copies what it has to where it belongs. Always one stage.
schedule::Program alone(const schedule::Problem& problem);

}  // namespace unisono::algorithms
