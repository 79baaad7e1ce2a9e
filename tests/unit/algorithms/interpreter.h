// SPDX-License-Identifier: BSD-3-Clause
// Runs all ranks' programs in the order in which they are written, on symbolic data, and says what is wrong.
// A second, simpler opinion beside the checker: nothing here looks for dependencies. A send is not buffered:
// until it is received, its rank may not overwrite what it sends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "proof/check_graph.h"
#include "schedule/program.h"

namespace unisono::algorithms::testing {

struct Case {
  const Descriptor* descriptor = nullptr;
  Parameters parameters;
  patterns::Layout layout;
  int root = 0;
  bool is_commutative = true;
  bool is_in_place = false;
  std::int64_t elements = 1;  // N; of uneven blocks, the longest
  int pattern = 1;            // uneven blocks: which lengths (proof::block_length)
  std::shared_ptr<const proof::CheckedGraph> graph = nullptr;  // of neighbours
  std::int64_t area_bytes = 64;  // of shared memory, per rank and channel; an element has 8 bytes
  std::string describe() const;
};

// Empty where every rank ends with what the operation promises.
std::string fault_of(const Case& tested);

}  // namespace unisono::algorithms::testing
