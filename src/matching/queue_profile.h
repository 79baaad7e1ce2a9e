// SPDX-License-Identifier: BSD-3-Clause
// What an earlier run of a program has put into a rank's queues, by peer: rows of the source's matrices
// (figure 3.3; figure 4.1 with contexts). Receives from any source are not in it.
//
// docs/reference/queue-profile-format.md describes it as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matching/envelope.h"

namespace unisono::matching {

// Elements of one queue, by context and source.
using ElementCounts = std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t>;

struct Profile {
  int ranks = 1;
  ElementCounts posted;
  ElementCounts unexpected;

  bool operator==(const Profile&) const = default;
};

// How many elements each source has put into a queue, in all contexts together.
std::vector<double> elements_of_sources(const ElementCounts& counts, int ranks);

inline constexpr int most_profile_ranks = 1 << 22;
inline constexpr std::size_t most_profile_bytes = std::size_t{1} << 30;

// Of a job of so many ranks; those that have put nothing into queues may lack.
struct ReadProfile {
  int ranks = 0;
  std::map<int, Profile> of_ranks;
  std::string problem;  // empty where the text could be read
};
ReadProfile read_profiles(std::string_view text);
std::string to_text(int ranks, const std::map<int, Profile>& of_ranks);

}  // namespace unisono::matching
