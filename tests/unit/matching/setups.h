// SPDX-License-Identifier: BSD-3-Clause
// What structures are made with: values of their parameters, and profiles of an earlier run.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../seed.h"
#include "matching/queue_profile.h"
#include "traces.h"

namespace unisono::matching {

using Values = std::vector<std::pair<std::string_view, std::int64_t>>;

inline std::string text_of(const Values& values) {
  std::string text;
  for (const auto& [name, value] : values) text += " " + std::string(name) + "=" + std::to_string(value);
  return text;
}

// Of an earlier run, in which sources differed.
inline Profile some_profile(const Traffic& traffic) {
  Profile profile{.ranks = traffic.sources};
  std::mt19937 random(seed());
  for (int context = 0; context < traffic.contexts; ++context) {
    for (int source = 0; source < traffic.sources; ++source) {
      const std::pair place{static_cast<std::uint32_t>(context), source};
      if (random() % 4 != 0) profile.posted[place] = 1U << random() % 16;
      if (random() % 4 != 0) profile.unexpected[place] = 1U << random() % 16;
    }
  }
  return profile;
}

}  // namespace unisono::matching
