// SPDX-License-Identifier: BSD-3-Clause
// Are the tables of blocks that programs for neighbours carry in order?
#pragma once

#include <string>
#include <vector>

#include "proof/check_program.h"

namespace unisono::proof {

// Appends what is wrong. Each number has a block, each length has been told, blocks of the program's are its
// own. Ranks of a node lay out slots in one way.
void inspect_tables(const CheckedCall& call, std::vector<std::string>* failures);
// A rank whose node's ranks tell each other nothing knows the lengths of its own blocks alone.
void inspect_own_lengths(const CheckedCall& call, std::vector<std::string>* failures);

}  // namespace unisono::proof
