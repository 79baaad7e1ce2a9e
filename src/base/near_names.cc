// SPDX-License-Identifier: BSD-3-Clause
#include "base/near_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>

namespace unisono {
namespace {

constexpr std::size_t most_compared = 64;  // characters of a name

// How many characters have to be put in, taken out, changed or exchanged with their neighbours (the optimal
// string alignment distance); capitals count as small letters.
std::size_t distance(std::string_view one, std::string_view other) {
  const auto is_same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  std::vector<std::size_t> before, above(other.size() + 1), row(other.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t change = is_same(one[i - 1], other[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && is_same(one[i - 1], other[j - 2]) && is_same(one[i - 2], other[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[other.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  if (word.empty() || word.size() > most_compared) return {};
  // A third of the letters may be wrong: more is another word. So is one of which no letter is right.
  std::size_t least = std::min(word.size(), std::max<std::size_t>(1, word.size() / 3) + 1);
  std::string best;
  for (const std::string& name : names) {
    if (name.size() > most_compared) continue;
    const std::size_t found = distance(word, name);
    if (found < least) {
      least = found;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string meant = nearest(word, names);
  return meant.empty() ? std::string() : "; did you mean '" + meant + "'?";
}

}  // namespace unisono
