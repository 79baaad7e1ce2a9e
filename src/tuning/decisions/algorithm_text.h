// SPDX-License-Identifier: BSD-3-Clause
// An algorithm with parameters as users, tables and answers write it: "ring(segment=64K,window=2)", "native".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::tuning {

struct NamedAlgorithm {
  const algorithms::Descriptor* algorithm = nullptr;  // null: native
  algorithms::Parameters parameters;                  // those that were named
  bool operator==(const NamedAlgorithm&) const = default;
};

// `problem` says what is wrong; empty: `named` is what was written.
struct ReadAlgorithm {
  NamedAlgorithm named;
  std::string problem;
};
ReadAlgorithm algorithm_from_text(Operation operation, std::string_view text);

// "there is no operation 'x'; there are barrier, ...".
std::string no_operation(std::string_view name);

std::string to_text(const NamedAlgorithm& named);

// At commas outside of brackets; without blanks and empty items.
std::vector<std::string> split_outside_brackets(std::string_view text);

}  // namespace unisono::tuning
