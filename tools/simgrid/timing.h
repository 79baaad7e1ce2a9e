// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace unisono::simgrid {

// Collective over MPI_COMM_WORLD. All ranks go on at one point of virtual time, at which no message is under
// way any more; returns it, seconds.
double begin_together();
// Collective: the latest of all ranks' times; the sum of their numbers.
double latest(double time_s);
std::uint64_t sum_of_all(std::uint64_t number);
// Virtual time, seconds.
double now_s();

}  // namespace unisono::simgrid
