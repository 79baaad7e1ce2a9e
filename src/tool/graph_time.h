// SPDX-License-Identifier: BSD-3-Clause
// How long a collective of neighbours takes by what it counts: messages, blocks and copies times what one of
// them costs. Coarser than virtual time (model/virtual_time.h), and done at once for any number of ranks.
#pragma once

#include <cstdint>
#include <string>

#include "patterns/traffic.h"

namespace unisono::tool {

struct GraphCosts {
  double message_us = 0.3;          // a core sends or receives one
  double inside_latency_us = 0.5;   // between ranks of a node
  double between_latency_us = 1.5;  // between nodes
  double inside_us_per_byte = 1 / 10e3;
  double between_us_per_byte = 1 / 12e3;  // of a node's network card
  double barrier_us = 1;                  // of the ranks of a node
  double copy_us = 0.02;                  // a block
  double copy_us_per_byte = 1 / 10e3;
  double agreement_us = 50;  // an allreduce of all ranks, once
};

// Of one call with blocks of so many bytes.
double time_us(const patterns::Traffic& traffic, const GraphCosts& costs, std::int64_t block_bytes);

}  // namespace unisono::tool
