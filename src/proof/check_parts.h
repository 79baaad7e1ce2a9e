// SPDX-License-Identifier: BSD-3-Clause
// The parts of the proof of a registry, each of them for a thread: one algorithm on one number of ranks, and
// calls that follow each other on one slice.
#pragma once

#include <string>
#include <vector>

#include "proof/check_algorithm.h"
#include "proof/check_cases.h"

namespace unisono::proof {

struct Outcome {
  std::int64_t cases = 0;
  std::vector<CheckFailure> failures;
};

inline constexpr std::size_t most_failures_of_part = 5;

// "allreduce/ring"
std::string title_of(const algorithms::Descriptor& descriptor);
// ", 5 elements in up to 3 pieces"
std::string count_of(std::int64_t elements, std::int64_t pieces);

Outcome check_size(const algorithms::Descriptor& descriptor, int size, const CheckOptions& options);
Outcome check_sequences(const std::vector<const algorithms::Descriptor*>& descriptors,
                        const NamedLayout& layout, const CheckOptions& options);

}  // namespace unisono::proof
