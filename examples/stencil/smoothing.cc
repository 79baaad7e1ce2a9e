// SPDX-License-Identifier: BSD-3-Clause
#include "smoothing.h"

#include <array>
#include <cstdint>

namespace stencil {

std::vector<Vector> seen(const Options& options, Topology topology) {
  Box around;
  around.high.fill(1);
  for (int d = 0; d < options.dimensions; ++d) {
    around.low[d] = -options.radius;
    around.high[d] = options.radius + 1;
  }
  std::vector<Vector> steps;
  for_each_row(around, options.dimensions, [&](Vector place, int length) {
    for (int i = 0; i < length; ++i, ++place[options.dimensions - 1]) {
      int axes = 0;
      for (int step : place) axes += step != 0;
      if (topology == Topology::graph || axes <= 1) steps.push_back(place);
    }
  });
  return steps;
}

void smooth(Field& from, Field& to, const Box& box, const std::vector<Vector>& steps, int dimensions) {
  std::vector<std::int64_t> distances;
  for (const Vector& step : steps) distances.push_back(from.distance(step));
  const double share = 1.0 / static_cast<double>(steps.size());
  for_each_row(box, dimensions, [&](const Vector& place, int length) {
    const double* in = from.data() + from.at(place);
    double* out = to.data() + to.at(place);
    for (int i = 0; i < length; ++i) {
      double sum = 0.0;
      for (std::int64_t distance : distances) sum += in[i + distance];
      out[i] = sum * share;
    }
  });
}

double first_value(const Vector& place) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (int coordinate : place) {
    hash = (hash ^ static_cast<std::uint64_t>(coordinate)) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 31;
  }
  return static_cast<double>(hash >> 11) / 9007199254740992.0;
}

namespace {

// Fills the border of the whole grid's field from the other side. Without it the border stays 0.
void wrap_around(Field& field, const Options& options) {
  Box with_border = field.inside();
  const Vector sides = with_border.high;
  const int last = options.dimensions - 1;
  for (int d = 0; d <= last; ++d) {
    with_border.low[d] -= options.radius;
    with_border.high[d] += options.radius;
  }
  for_each_row(with_border, options.dimensions, [&](Vector place, int length) {
    for (int i = 0; i < length; ++i, ++place[last]) {
      Vector source = place;
      for (int d = 0; d <= last; ++d) source[d] = (place[d] % sides[d] + sides[d]) % sides[d];
      field[place] = field[source];
    }
  });
}

}  // namespace

Field smoothed_alone(const Options& options, const Vector& grid, Topology topology) {
  Vector sides{};
  for (int d = 0; d < options.dimensions; ++d) sides[d] = grid[d] * options.cells;
  std::array<Field, 2> fields{Field(options.dimensions, sides, options.radius),
                              Field(options.dimensions, sides, options.radius)};
  const int last = options.dimensions - 1;
  for_each_row(fields[0].inside(), options.dimensions, [&](Vector place, int length) {
    for (int i = 0; i < length; ++i, ++place[last]) fields[0][place] = first_value(place);
  });
  const std::vector<Vector> steps = seen(options, topology);
  for (int step = 0; step < options.steps; ++step) {
    Field &from = fields[step % 2], &to = fields[(step + 1) % 2];
    if (options.is_periodic) wrap_around(from, options);
    smooth(from, to, from.inside(), steps, options.dimensions);
  }
  return fields[options.steps % 2];
}

}  // namespace stencil
