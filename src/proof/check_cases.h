// SPDX-License-Identifier: BSD-3-Clause
// Which cases the checker looks at: layouts, roots, parameters, counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "proof/check_graphs.h"
#include "proof/check_schedule.h"

namespace unisono::proof {

struct NamedLayout {
  std::string name;  // as Layout::parse takes it, and " on tree:4x8" where there are switches
  std::shared_ptr<const patterns::Layout> layout;
  bool is_from_source = false;
};
// One node, two nodes, four uneven ones, cyclic, a node for every rank; as far as they differ.
std::vector<NamedLayout> check_layouts(int size);
// The same below switches: one, two, four uneven ones, and two levels of them. Then come the sources' (a), 16
// on one, and (b), 32 on four; and machines with one rank and with several.
std::vector<NamedLayout> check_layouts_on_switches(int size);
// Nodes that domains divide: two, interleaved, four uneven ones, two levels of them, and on several nodes.
std::vector<NamedLayout> check_layouts_in_domains(int size);
// Several nodes of equally many consecutive ranks, a power of two of them: what reproducible reductions on
// two levels need.
std::vector<NamedLayout> aligned_layouts(int size);

// All but the count of a call.
struct CheckShape {
  NamedLayout layout;
  NamedGraph graph{};  // of neighbours; of no name elsewhere
  int root = 0;
  bool is_commutative = true;
  bool is_reproducible = false;
  bool is_in_place = false;
  algorithms::Parameters parameters;

  // "8 ranks (2x4/cyclic), root 3, in place, segment=4096"
  std::string describe(const algorithms::Descriptor& descriptor) const;
  schedule::Problem problem(const algorithms::Descriptor& descriptor) const;
};
// The shapes in which the algorithm is legal, in an order in which every value of everything comes early.
std::vector<CheckShape> check_shapes(const algorithms::Descriptor& descriptor, int size, std::uint32_t seed);

// Neighbours: every legal layout with all parameters, for whichever graph the caller puts there; layouts
// change from one to the next.
std::vector<CheckShape> shapes_without_graph(const algorithms::Descriptor& descriptor, int size);

CheckedCall spread_out(const algorithms::Descriptor& descriptor, const CheckShape& shape,
                       std::vector<std::string>* failures, KnownPrograms* known = nullptr);

// Counts worth looking at: 0, 1, fewer than ranks, not divisible, 2p + 1.
std::vector<std::int64_t> check_counts(Operation operation, int size);
// How a load comes to its pieces. `forced`: stages that have a segment are cut into so many. `by_slots`: the
// slots of shared memory are so short. `by_size`: elements are so large that the longest stage makes so many
// segments.
enum class Cut : std::uint8_t { forced, by_slots, by_size };
// At least one element fits in every lane of every node. `step`: how many pieces more from stage to stage.
CheckLoad load_for(const algorithms::Descriptor& descriptor, const CheckedCall& call, std::int64_t elements,
                   int pieces, Cut cut, int step = 0);

}  // namespace unisono::proof
