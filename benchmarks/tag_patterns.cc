// SPDX-License-Identifier: BSD-3-Clause
#include "tag_patterns.h"

#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "matching/open_table.h"

namespace unisono::matching {
namespace {

constexpr std::uint64_t known_seed = 1;  // whose hash the adversary knows

struct Pattern {
  std::string name;
  std::vector<int> tags;
};

std::vector<int> apart(int count, int stride) {
  std::vector<int> tags;
  for (int i = 0; i < count; ++i) tags.push_back(static_cast<int>(std::int64_t{i} * stride % (1LL << 31)));
  return tags;
}

std::vector<int> random_tags(int count) {
  std::mt19937 random(11);
  std::vector<int> tags(static_cast<std::size_t>(count));
  for (int& tag : tags) tag = static_cast<int>(random() >> 1);
  return tags;
}

std::vector<int> reversed_bits(int count) {
  std::vector<int> tags;
  for (unsigned i = 0; std::cmp_less(i, count); ++i) {
    unsigned tag = 0;
    for (unsigned bit = 0; bit < 31; ++bit) tag |= (i >> bit & 1) << (30 - bit);
    tags.push_back(static_cast<int>(tag));
  }
  return tags;
}

// As OpenTable has it: what decides the bucket.
std::uint64_t place(const Envelope& envelope, HashSeed seed) {
  const auto product = static_cast<unsigned __int128>(key_of(envelope) ^ seed.mixed_in) * seed.factor;
  return (static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product)) >> 32;
}

// Whoever knows the hash's beginning chooses these: of some thousand tags for each receive the one that lies
// first in the table.
std::vector<int> colliding(int count) {
  constexpr int tries = 4096;
  const HashSeed seed = hash_seed_from(known_seed);
  std::vector<int> tags;
  for (int i = 0; i < count; ++i) {
    std::pair<std::uint64_t, int> best = {std::numeric_limits<std::uint64_t>::max(), 0};
    for (int tag = i * tries; tag < (i + 1) * tries; ++tag)
      best = std::min(best, std::pair(place({.source = i % ranks, .tag = tag}, seed), tag));
    tags.push_back(best.second);
  }
  return tags;
}

std::vector<Pattern> patterns(int count) {
  std::vector<Pattern> all = {{"exact (1 apart)", apart(count, 1)}};
  for (const int stride : {2, 64, 1000, 1021, 1024, 4096, 32768, 65536, 65537})
    all.push_back({std::to_string(stride) + " apart", apart(count, stride)});
  all.push_back({"random", random_tags(count)});
  all.push_back({"bits reversed", reversed_bits(count)});
  all.push_back({"chosen against another beginning", colliding(count)});
  return all;
}

struct Times {
  double median, worst;
};

// Patterns take turns, so that other work on the machine meets all of them.
std::vector<Times> measured(const Options& options, const std::vector<Pattern>& all, int depth) {
  std::vector<std::vector<double>> ns(all.size());
  for (int seed = 1; seed <= options.seeds; ++seed)
    for (std::size_t i = 0; i < all.size(); ++i)
      ns[i].push_back(standing(
          options, *find("own"), depth,
          {.name = "", .tags = all[i].tags, .seed = known_seed + static_cast<unsigned>(seed)}, false));
  std::vector<Times> times;
  for (std::vector<double>& each : ns) {
    std::ranges::sort(each);
    times.push_back({each[each.size() / 2], each.back()});
  }
  return times;
}

}  // namespace

void print_tag_patterns(const Options& options) {
  const std::vector<int> depths = options.depths.empty() ? std::vector{64, 1024, 4096} : options.depths;
  const std::vector<Pattern> names = patterns(1);
  std::vector<std::string> rows;
  for (const Pattern& pattern : names) rows.push_back(pattern.name);
  const auto number = [](double ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", ns);
    return std::string(text);
  };
  std::vector<double> most(names.size());
  for (const int depth : depths) {
    const std::vector<Times> times = measured(options, patterns(depth), depth);
    for (std::size_t i = 0; i < times.size(); ++i) {
      rows[i]
          .append(" | ")
          .append(number(times[i].median))
          .append(" (")
          .append(number(times[i].worst))
          .append(")");
      most[i] = std::max(most[i], times[i].worst / times[0].median);
    }
  }
  std::printf("\nStanding receives of own, %d beginnings of the hash: median and worst\n\n| tags |",
              options.seeds);
  for (const int depth : depths) std::printf(" %d |", depth);
  std::printf(" worst over exact |\n| --- |");
  for (std::size_t i = 0; i <= depths.size(); ++i) std::printf(" ---: |");
  std::printf("\n");
  for (std::size_t i = 0; i < rows.size(); ++i) std::printf("| %s | %.2f |\n", rows[i].c_str(), most[i]);
  for (const int depth : depths) {
    const Mix mix = {.name = "", .tags = colliding(depth), .seed = known_seed};
    std::printf("\nWith %d tags chosen against the very beginning: %.0f ns.\n", depth,
                standing(options, *find("own"), depth, mix, false));
  }
}

}  // namespace unisono::matching
