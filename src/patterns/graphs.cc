// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/graphs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace unisono::patterns {
namespace {

constexpr int most_dimensions = 16;
constexpr std::uint64_t default_seed = 1;

int product(const std::vector<int>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>());
}

// Coordinates, the last dimension running fastest.
std::vector<int> coordinates_of(int rank, const std::vector<int>& extents) {
  std::vector<int> coordinates(extents.size());
  for (std::size_t d = extents.size(); d-- > 0; rank /= extents[d]) coordinates[d] = rank % extents[d];
  return coordinates;
}

// A sequence that the seed alone decides (splitmix64).
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed) {}
  // In [0, 1).
  double next() {
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15, first = 0xbf58476d1ce4e5b9,
                            second = 0x94d049bb133111eb;
    std::uint64_t value = state_ += step;
    value = (value ^ (value >> 30)) * first;
    value = (value ^ (value >> 27)) * second;
    constexpr int kept_bits = 53;
    return std::ldexp(static_cast<double>((value ^ (value >> 31)) >> (64 - kept_bits)), -kept_bits);
  }

 private:
  std::uint64_t state_;
};

// How many pairs without an edge come before the next one with an edge. Products alone, no logarithms: these
// are rounded alike on all machines.
class Gaps {
 public:
  Gaps(double density, std::uint64_t seed) : sequence_(seed), longer_{1} {
    constexpr std::size_t most = 4096;
    while (longer_.size() < most && longer_.back() > 0) longer_.push_back(longer_.back() * (1 - density));
  }
  // At least `enough` where the gap is longer than that.
  std::int64_t next(std::int64_t enough) {
    const std::int64_t longest = std::ssize(longer_) - 1;
    for (std::int64_t gap = 0; gap < enough; gap += longest) {
      const auto found = std::ranges::lower_bound(longer_, sequence_.next(), std::ranges::greater());
      if (found != longer_.end()) return gap + (found - longer_.begin()) - 1;
    }
    return enough;
  }

 private:
  Sequence sequence_;
  std::vector<double> longer_;  // by length: how likely a gap is that long or longer
};

// From the ranks that each one sends to.
Neighborhood from_destinations(const std::vector<std::vector<int>>& destinations) {
  std::vector<std::vector<int>> sources(destinations.size());
  for (std::size_t rank = 0; rank < destinations.size(); ++rank) {
    for (const int to : destinations[rank])
      sources[static_cast<std::size_t>(to)].push_back(static_cast<int>(rank));
  }
  Neighborhood graph(static_cast<int>(destinations.size()));
  for (std::size_t rank = 0; rank < destinations.size(); ++rank)
    graph.set(static_cast<int>(rank), graph_neighbors(sources[rank], destinations[rank]));
  return graph;
}

// ---- The text

template <class Number>
bool read_number(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// "4x4x4".
bool read_extents(std::string_view text, std::vector<int>* extents) {
  while (true) {
    const std::size_t end = std::min(text.find('x'), text.size());
    int extent = 0;
    if (!read_number(text.substr(0, end), &extent) || extent < 1 || std::ssize(*extents) == most_dimensions)
      return false;
    extents->push_back(extent);
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

bool has_product(const std::vector<int>& extents, int ranks) {
  std::int64_t found = 1;
  for (const int extent : extents) {
    found *= extent;
    if (found > ranks) return false;
  }
  return found == ranks;
}

// What a text says: either a graph, or why there is none.
struct Parsed {
  std::optional<Neighborhood> graph;
  std::string why;
};

Parsed parse_moore(std::string_view first, std::string_view second, int ranks) {
  int dimensions = 0, radius = 0;
  if (!read_number(first, &dimensions) || !read_number(second, &radius) || dimensions < 1 || radius < 1 ||
      dimensions > most_dimensions)
    return {{}, "moore takes a number of dimensions, at most 16, and a radius, as moore:2,4"};
  const std::vector<int> extents = even_extents(ranks, dimensions);
  return {moore_neighborhood(extents, std::min(radius, *std::ranges::max_element(extents))), {}};
}

Parsed parse_random(std::string_view first, std::string_view second, int ranks) {
  double density = 0;
  std::uint64_t seed = default_seed;
  if (!read_number(first, &density) || !(density >= 0 && density <= 1) ||
      (!second.empty() && !read_number(second, &seed)))
    return {{}, "random takes a density from 0 to 1, and a seed if you want another one, as random:0.4,7"};
  return {random_neighborhood(ranks, density, seed), {}};
}

Parsed parse_cartesian(std::string_view first, std::string_view second, int ranks) {
  std::vector<int> extents;
  if (!read_extents(first, &extents) || (!second.empty() && second != "periodic"))
    return {{}, "cart takes the extent of each dimension, as cart:4x4x4 or cart:4x4x4,periodic"};
  if (!has_product(extents, ranks))
    return {{},
            "a grid of " + std::string(first) + " does not have " + std::to_string(ranks) +
                (ranks == 1 ? " rank" : " ranks")};
  return {cartesian_neighborhood(extents, second == "periodic"), {}};
}

Parsed parse(std::string_view text, int ranks) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == text.size() ? "" : text.substr(colon + 1);
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view first = rest.substr(0, comma);
  const std::string_view second = comma == rest.size() ? "" : rest.substr(comma + 1);
  if (kind == "moore") return parse_moore(first, second, ranks);
  if (kind == "random") return parse_random(first, second, ranks);
  if (kind == "cart") return parse_cartesian(first, second, ranks);
  if (text == "ring") return {moore_neighborhood({ranks}, 1), {}};
  if (text == "complete") return {complete_neighborhood(ranks), {}};
  return {{}, "write moore:2,4 (dimensions, radius), random:0.4 (density), cart:4x4x4, ring or complete"};
}

}  // namespace

std::vector<int> even_extents(int ranks, int dimensions) {
  std::vector<int> divisors, best, extents;
  for (int divisor = 1; divisor <= ranks; ++divisor) {
    if (ranks % divisor == 0) divisors.push_back(divisor);
  }
  const auto spread = [](const std::vector<int>& of) { return of.front() - of.back(); };
  // Each extent divides what the ones before it left, and is at most as large as the one before.
  const auto choose = [&](const auto& self, int left, int places, int most) -> void {
    for (const int extent : divisors) {
      if (extent > std::min(left, most)) return;
      if (left % extent != 0 || (places == 1 && extent != left)) continue;
      extents.push_back(extent);
      if (places > 1)
        self(self, left / extent, places - 1, extent);
      else if (best.empty() || spread(extents) < spread(best))
        best = extents;
      extents.pop_back();
    }
  };
  choose(choose, ranks, dimensions, ranks);
  return best;
}

Neighborhood moore_neighborhood(const std::vector<int>& extents, int radius) {
  const int ranks = product(extents);
  std::vector<std::vector<int>> reached;  // by dimension: distances that lead to different coordinates
  for (const int extent : extents) {
    std::vector<int>& of = reached.emplace_back();
    for (int step = -radius; step <= radius && std::ssize(of) < extent; ++step) of.push_back(step);
  }
  std::vector<std::vector<int>> destinations(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<int> at = coordinates_of(rank, extents);
    const auto walk = [&](const auto& self, std::size_t dimension, int before) -> void {
      if (dimension == extents.size()) {
        if (before != rank) destinations[static_cast<std::size_t>(rank)].push_back(before);
        return;
      }
      const int extent = extents[dimension];
      for (const int step : reached[dimension]) {
        const int coordinate = ((at[dimension] + step) % extent + extent) % extent;
        self(self, dimension + 1, before * extent + coordinate);
      }
    };
    walk(walk, 0, 0);
  }
  return from_destinations(destinations);
}

Neighborhood random_neighborhood(int ranks, double density, std::uint64_t seed) {
  std::vector<std::vector<int>> destinations(static_cast<std::size_t>(ranks));
  const std::int64_t others = ranks - 1, pairs = ranks * others;
  Gaps gaps(density, seed);
  for (std::int64_t pair = gaps.next(pairs); pair < pairs; pair += 1 + gaps.next(pairs)) {
    const std::int64_t from = pair / others, other = pair % others;
    destinations[static_cast<std::size_t>(from)].push_back(
        static_cast<int>(other < from ? other : other + 1));
  }
  return from_destinations(destinations);
}

Neighborhood cartesian_neighborhood(const std::vector<int>& extents, bool is_periodic) {
  const int ranks = product(extents);
  Neighborhood graph(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<int> at = coordinates_of(rank, extents);
    std::vector<int> neighbors;
    int stride = ranks;
    for (std::size_t dimension = 0; dimension < extents.size(); ++dimension) {
      const int extent = extents[dimension];
      stride /= extent;
      for (const int step : {-1, 1}) {
        const int coordinate = at[dimension] + step;
        const bool is_inside = coordinate >= 0 && coordinate < extent;
        const int moved = (coordinate + extent) % extent - at[dimension];
        neighbors.push_back(is_inside || is_periodic ? rank + moved * stride : no_neighbor);
      }
    }
    graph.set(rank, cartesian_neighbors(neighbors));
  }
  return graph;
}

Neighborhood complete_neighborhood(int ranks) {
  std::vector<std::vector<int>> destinations(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int to = 0; to < ranks; ++to) {
      if (to != rank) destinations[static_cast<std::size_t>(rank)].push_back(to);
    }
  }
  return from_destinations(destinations);
}

std::optional<Neighborhood> parse_graph(std::string_view text, int ranks) {
  return parse(text, ranks).graph;
}

std::string why_no_graph(std::string_view text, int ranks) {
  return parse(text, ranks).why;
}

}  // namespace unisono::patterns
