// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/routes.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace unisono::patterns {

VirtualMesh::VirtualMesh(std::vector<int> lengths, int points)
    : lengths_(std::move(lengths)), strides_(lengths_.size()), points_(points) {
  std::int64_t places = 1;
  for (std::size_t i = lengths_.size(); i-- > 0;) {
    strides_[i] = places;
    places *= lengths_[i];
  }
  if (places < points) throw std::invalid_argument("a mesh of " + text() + " has fewer places than points");
}

VirtualMesh VirtualMesh::of_twos(int points) {
  std::vector<int> lengths;
  for (int places = 1; places < points; places *= 2) lengths.push_back(2);
  if (lengths.empty()) lengths.push_back(1);
  return {std::move(lengths), points};
}

std::string VirtualMesh::text() const {
  std::string text;
  for (const int length : lengths_) {
    if (!text.empty()) text += 'x';
    text += std::to_string(length);
  }
  return text;
}

int VirtualMesh::point_of(int from, int to, int phase) const {
  if (phase == dimensions()) return to;
  std::int64_t place = 0;
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    const auto index = static_cast<std::size_t>(dimension);
    const std::int64_t coordinate = (dimension < phase ? to : from) / strides_[index] % lengths_[index];
    place += coordinate * strides_[index];
  }
  // Without its highest coordinate a place comes earlier, until there is a point.
  for (std::size_t i = 0; place >= points_; ++i) place %= strides_[i];
  return static_cast<int>(place);
}

std::vector<std::vector<Hop>> hops_over(const VirtualMesh& mesh, const std::vector<Wish>& wishes) {
  std::vector<std::vector<Hop>> phases(static_cast<std::size_t>(mesh.dimensions()));
  for (int phase = 0; phase < mesh.dimensions(); ++phase) {
    std::vector<Hop>& hops = phases[static_cast<std::size_t>(phase)];
    for (const Wish& wish : wishes) {
      const int from = mesh.point_of(wish.from, wish.to, phase);
      const int to = mesh.point_of(wish.from, wish.to, phase + 1);
      if (from != to) hops.push_back({from, to, wish.block});
    }
    std::ranges::sort(hops);
    hops.erase(std::ranges::unique(hops).begin(), hops.end());
  }
  return phases;
}

}  // namespace unisono::patterns
