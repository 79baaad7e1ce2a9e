// SPDX-License-Identifier: BSD-3-Clause
// What the sources call the algorithms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::algorithms {

// What a source calls an algorithm.
struct NameInSource {
  std::string row;  // of the source, "S1"
  std::string name;
};

// What the sources call this operation's algorithm `name`; empty where none of them has it.
std::vector<NameInSource> names_in_sources(Operation operation, std::string_view name);

// The algorithm of this name ("agents" is one), or the only one that a source calls so, blanks and capitals
// aside. Null where there is none, or more than one.
const Descriptor* find_named(Operation operation, std::string_view name);
// Why there is none: a clause that also says which ones a source may mean.
std::string why_unknown(Operation operation, std::string_view name);

}  // namespace unisono::algorithms
