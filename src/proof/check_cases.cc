// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_cases.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

#include "schedule/ranges.h"

namespace unisono::proof {
namespace {

using patterns::Layout;
using schedule::Problem;
using schedule::SharedMode;
using schedule::Stage;

// A segment that cuts only where load_for() wants it.
constexpr std::int64_t wide_segment = std::int64_t{1} << 30;
// Of neighbours: all blocks of a check fit into it.
constexpr std::int64_t wide_cell = 64;

std::string joined(const std::vector<int>& numbers, char separator = ',') {
  std::string text;
  for (const int number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

// In proportions 1 : 3 : 2 : 4 as far as that goes.
std::vector<int> uneven_parts(int size) {
  std::vector<int> uneven{std::max(1, size / 10), std::max(1, size * 3 / 10), std::max(1, size / 5)};
  uneven.push_back(size - uneven[0] - uneven[1] - uneven[2]);
  return uneven;
}

// Parameter values worth looking at: of a segment, whether there is one; of others, both ends and the middle.
std::vector<std::int64_t> values_of(const algorithms::ParameterSpec& spec) {
  // An overlap goes by the segment: all of it, none, and a part.
  if (spec.name == "overlap") return {wide_segment, 0, wide_segment / 3};
  // Up to which length blocks of neighbours travel together: loads have blocks below and above.
  if (spec.name == "bundle_up_to") return {wide_segment, 0, 16};
  if (spec.name == "share_up_to") return {wide_segment, 24, 0};
  if (spec.name == "cell") return {24, wide_cell, 0};
  if (spec.name == "piece_of_block") return {24, wide_segment, 8};
  if (spec.unit == "bytes") return {wide_segment, 0};
  std::vector<std::int64_t> values{spec.standard, spec.low, spec.high};
  if (spec.low + 1 < spec.high) values.push_back(spec.low + 1);
  std::vector<std::int64_t> distinct;
  for (const std::int64_t value : values) {
    if (std::find(distinct.begin(), distinct.end(), value) == distinct.end()) distinct.push_back(value);
  }
  return distinct;
}

std::vector<int> roots_of(const algorithms::Descriptor& descriptor, const Layout& layout) {
  const int size = layout.size();
  if (!is_rooted(descriptor.operation)) return {0};
  std::vector<int> roots;
  if (size <= 5) {
    for (int root = 0; root < size; ++root) roots.push_back(root);
  } else {
    roots = {0, size - 1, size / 2};
    // Where a node does not begin, too.
    const auto& last_node = layout.ranks_of.back();
    if (last_node.size() > 1) roots.push_back(last_node[1]);
  }
  return roots;
}

// All values of all parameters side by side; then one parameter after the other away from the standard. The
// shapes take turns.
std::vector<algorithms::Parameters> parameter_sets(const algorithms::Descriptor& descriptor) {
  std::size_t most = 1;
  for (const algorithms::ParameterSpec& spec : descriptor.parameters)
    most = std::max(most, values_of(spec).size());
  std::vector<algorithms::Parameters> sets(most);
  for (const algorithms::ParameterSpec& spec : descriptor.parameters) {
    const auto values = values_of(spec);
    for (std::size_t i = 0; i < most; ++i) sets[i].set(spec.name, values[i % values.size()]);
  }
  for (const algorithms::ParameterSpec& spec : descriptor.parameters) {
    for (const std::int64_t value : values_of(spec)) {
      algorithms::Parameters set = sets.front();
      set.set(spec.name, value);
      if (value != sets.front().get(spec.name)) sets.push_back(set);
    }
  }
  return sets;
}

bool is_legal(const algorithms::Descriptor& descriptor, const Problem& problem) {
  return why_illegal(descriptor, problem, 0, true, true).empty();
}

// What is asked of the order of operands.
struct Joining {
  bool is_commutative, is_reproducible;
};
constexpr Joining joinings[] = {{true, false}, {false, false}, {false, true}};

// One shape of each layout before all others, the sources' own layouts first.
void put_layouts_first(std::vector<CheckShape>* shapes) {
  std::vector<std::string> seen;
  const auto rest = std::stable_partition(shapes->begin(), shapes->end(), [&](const CheckShape& shape) {
    if (std::find(seen.begin(), seen.end(), shape.layout.name) != seen.end()) return false;
    seen.push_back(shape.layout.name);
    return true;
  });
  std::stable_partition(shapes->begin(), rest,
                        [](const CheckShape& shape) { return shape.layout.is_from_source; });
}

}  // namespace

std::vector<NamedLayout> check_layouts(int size) {
  std::vector<std::string> names{std::to_string(size)};
  if (size >= 2) {
    names.push_back(std::to_string(size) + "x1");
    names.push_back(joined({size - size / 2, size / 2}));
    names.push_back(names.back() + "/cyclic");
  }
  if (size >= 4) {
    names.push_back(joined(uneven_parts(size)));
    names.push_back(names.back() + "/cyclic");
  }
  std::vector<NamedLayout> layouts;
  for (const std::string& name : names) {
    auto layout = std::make_shared<Layout>(*Layout::parse(name));
    const bool is_known = std::any_of(layouts.begin(), layouts.end(), [&](const NamedLayout& known) {
      return known.layout->node_of == layout->node_of;
    });
    if (!is_known) layouts.push_back({name, std::move(layout)});
  }
  return layouts;
}

std::vector<NamedLayout> check_layouts_on_switches(int size) {
  std::vector<NamedLayout> layouts;
  const auto add = [&layouts](const std::string& nodes, const std::string& tree,
                              bool is_from_source = false) {
    auto layout = std::make_shared<Layout>(*Layout::parse(nodes));
    const auto topology = patterns::synthetic_topology(tree).topology;
    layout->switches = std::make_shared<patterns::SwitchTree>(topology->switches);
    for (const patterns::Machine& machine : topology->machines)
      layout->switch_of.push_back(machine.switch_of);
    layouts.push_back({nodes + " on " + tree, std::move(layout), is_from_source});
  };
  const std::string alone = std::to_string(size) + "x1";
  const auto tree = [](const std::vector<int>& machines) { return "tree:" + joined(machines); };
  const int third = (size + 2) / 3;
  if (size >= 2) add(alone, tree({size - third, third}));
  if (size == 16) add(alone, "tree:16", true);
  if (size == 16) add(alone, "tree:3,5,8", true);
  if (size >= 4) add(alone, tree(uneven_parts(size)));
  if (size >= 4) add(joined(uneven_parts(size)), "tree:2x2");
  if (size >= 8 && size % 8 == 0) add(alone, "tree:4x" + std::to_string(size / 4), size == 32);
  if (size >= 8 && size % 8 == 0)
    add(std::to_string(size / 2) + "x2/cyclic", "tree:2x2x" + std::to_string(size / 8));
  return layouts;
}

std::vector<NamedLayout> check_layouts_in_domains(int size) {
  std::vector<std::string> names;
  const auto two = [](int ranks) {
    return std::to_string(ranks - ranks / 2) + "+" + std::to_string(ranks / 2);
  };
  if (size >= 3) names.push_back("(" + two(size) + ")");
  if (size >= 3) names.push_back(names.back() + "/interleaved");
  if (size >= 4) names.push_back("(" + joined(uneven_parts(size), '+') + ")");
  if (size >= 8) names.push_back("((" + two(size - size / 2) + ")+(" + two(size / 2) + "))");
  if (size >= 8) names.push_back("(" + two(size - size / 2) + "),(" + two(size / 2) + ")");
  if (size >= 8) names.push_back(names.back() + "/cyclic");
  if (size >= 8) names.push_back(std::to_string(size / 2) + ",(" + two(size - size / 2) + ")/interleaved");
  std::vector<NamedLayout> layouts;
  for (const std::string& name : names)
    if (auto layout = Layout::parse(name); layout && layout->domains != nullptr)
      layouts.push_back({name, std::make_shared<Layout>(*layout)});
  return layouts;
}

std::vector<NamedLayout> aligned_layouts(int size) {
  std::vector<NamedLayout> layouts;
  for (int on_node = 2; 2 * on_node <= size; on_node *= 2) {
    if (size % on_node != 0) continue;
    const std::string name = std::to_string(size / on_node) + "x" + std::to_string(on_node);
    layouts.push_back({name, std::make_shared<Layout>(*Layout::parse(name))});
  }
  return layouts;
}

Problem CheckShape::problem(const algorithms::Descriptor& descriptor) const {
  Problem problem;
  problem.operation = descriptor.operation;
  problem.size = layout.layout->size();
  problem.root = root;
  problem.is_commutative = is_commutative;
  problem.is_reproducible = is_reproducible;
  problem.layout = layout.layout;
  problem.neighborhood = graph.graph;
  return problem;
}

std::string CheckShape::describe(const algorithms::Descriptor& descriptor) const {
  const int size = layout.layout->size();
  std::string text = std::to_string(size) + (size == 1 ? " rank (" : " ranks (") + layout.name + ")";
  if (graph.graph != nullptr) text += ", graph " + graph.name;
  if (is_rooted(descriptor.operation)) text += ", root " + std::to_string(root);
  if (is_in_place) text += ", in place";
  if (is_reduction(descriptor.operation) && !is_commutative) {
    text += is_reproducible ? ", reproducible" : ", not commutative";
  }
  for (const auto& [name, value] : parameters.values()) text += ", " + name + "=" + std::to_string(value);
  return text;
}

std::vector<CheckShape> check_shapes(const algorithms::Descriptor& descriptor, int size, std::uint32_t seed) {
  std::vector<CheckShape> legal;
  Problem some;
  some.operation = descriptor.operation;
  std::vector<NamedLayout> layouts = check_layouts(size);
  if (descriptor.legality.needs_topology) {
    std::ranges::move(check_layouts_on_switches(size), std::back_inserter(layouts));
  }
  const bool goes_by_domains =
      descriptor.legality.needs_domains ||
      std::ranges::find(descriptor.parameters, "domains", &algorithms::ParameterSpec::name) !=
          descriptor.parameters.end();
  if (goes_by_domains) std::ranges::move(check_layouts_in_domains(size), std::back_inserter(layouts));
  const std::vector<NamedGraph> graphs =
      is_neighborhood(descriptor.operation) ? named_graphs(size) : std::vector<NamedGraph>(1);
  const std::size_t for_all = layouts.size();
  if (descriptor.legality.keeps_one_order && descriptor.legality.needs_several_nodes) {
    std::ranges::move(aligned_layouts(size), std::back_inserter(layouts));
  }
  for (const NamedLayout& layout : layouts) {
    const bool is_for_all = static_cast<std::size_t>(&layout - layouts.data()) < for_all;
    for (const int root : roots_of(descriptor, *layout.layout)) {
      for (const Joining& joining : joinings) {
        if (!joining.is_commutative && !is_reduction(descriptor.operation)) continue;
        if (!joining.is_reproducible && !is_for_all) continue;
        for (const bool is_in_place : {false, true}) {
          if (is_in_place && !may_be_in_place(some)) continue;
          CheckShape shape{layout,      {}, root, joining.is_commutative, joining.is_reproducible,
                           is_in_place, {}};
          if (!is_legal(descriptor, shape.problem(descriptor))) continue;
          for (const NamedGraph& graph : graphs) {
            shape.graph = graph;
            legal.push_back(shape);
          }
        }
      }
    }
  }
  std::mt19937 random(seed * 7919 + static_cast<std::uint32_t>(size));
  const std::vector<algorithms::Parameters> sets = parameter_sets(descriptor);
  std::vector<CheckShape> shapes;
  const std::size_t rounds = std::max<std::size_t>(sets.size(), 4);
  for (std::size_t round = 0; round < rounds && !legal.empty(); ++round) {
    std::shuffle(legal.begin(), legal.end(), random);
    if (round == 0) put_layouts_first(&legal);
    for (CheckShape shape : legal) {
      shape.parameters = sets[(shapes.size() + round) % sets.size()];
      shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

namespace {

// What a node knows of a graph that is told to all: of other nodes' ranks, whom they send to.
std::shared_ptr<const patterns::Neighborhood> told_to_all(const patterns::Neighborhood& graph,
                                                          const patterns::Neighborhood& known) {
  auto told = std::make_shared<patterns::Neighborhood>(known);
  for (int rank = 0; rank < graph.size(); ++rank) {
    if (!known.knows(rank)) told->set(rank, {{}, graph.of(rank).out});
  }
  return told;
}

}  // namespace

std::vector<CheckShape> shapes_without_graph(const algorithms::Descriptor& descriptor, int size) {
  std::vector<CheckShape> shapes;
  for (const algorithms::Parameters& parameters : parameter_sets(descriptor)) {
    for (const NamedLayout& layout : check_layouts(size)) {
      CheckShape shape{.layout = layout, .parameters = parameters};
      if (is_legal(descriptor, shape.problem(descriptor))) shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

CheckedCall spread_out(const algorithms::Descriptor& descriptor, const CheckShape& shape,
                       std::vector<std::string>* failures, KnownPrograms* known) {
  const std::string title = std::string(name(descriptor.operation)) + "/" + descriptor.name;
  std::map<const patterns::Neighborhood*, std::shared_ptr<const patterns::Neighborhood>> told;
  const auto build = [&](Problem problem) {
    if (descriptor.legality.needs_whole_graph) {
      auto& of_node = told[problem.neighborhood.get()];
      if (of_node == nullptr) of_node = told_to_all(*shape.graph.graph, *problem.neighborhood);
      problem.neighborhood = of_node;
    }
    return descriptor.build(problem, shape.parameters);
  };
  return spread_out(title, shape.problem(descriptor), shape.is_in_place, build, failures, known);
}

std::vector<std::int64_t> check_counts(Operation operation, int size) {
  if (!moves_data(operation)) return {0};
  const std::int64_t p = size;
  std::vector<std::int64_t> counts{2 * p + 1, 0, 1, p - 1, p + p / 2 + 1};
  if (is_block_operation(operation) || is_neighborhood(operation)) counts = {3, 0, 1, 2, 7};
  std::vector<std::int64_t> distinct;
  for (const std::int64_t count : counts) {
    if (std::find(distinct.begin(), distinct.end(), count) == distinct.end()) distinct.push_back(count);
  }
  return distinct;
}

CheckLoad load_for(const algorithms::Descriptor& descriptor, const CheckedCall& call, std::int64_t elements,
                   int pieces, Cut cut, int step) {
  CheckLoad load{.elements = elements, .element_bytes = 8, .area_elements = 1};
  if (cut == Cut::forced) {
    load.pieces = pieces;
    load.pieces_step = step;
  } else if (cut == Cut::by_size && !descriptor.legality.is_limited()) {
    std::int64_t longest = 1;
    for (const Stage& stage : call.programs[0].stages) {
      if (stage.segment_bytes == 0) continue;
      longest = std::max(longest, schedule::scaled_up(stage.extent, stage.extent_parts, elements));
    }
    load.element_bytes = wide_segment / ((longest + pieces - 1) / pieces);
  }
  const patterns::Layout& layout = *call.problem.layout;
  if (call.graph != nullptr) {
    // All blocks as long as they can be: the caller may choose other lengths.
    CheckLoad longest = load;
    longest.limits = schedule::BlockLimits{wide_segment, wide_segment};
    longest.element_bytes = 0;
    fit_slots(call, &longest);
    load.area_elements = longest.area_elements;
    return load;
  }
  for (int rank = 0; rank < call.problem.size; ++rank) {
    for (const Stage& stage : call.programs[rank].stages) {
      if (stage.shared == SharedMode::none) continue;
      const std::int64_t extent = schedule::scaled_up(stage.extent, stage.extent_parts, elements);
      const std::int64_t lanes = cut == Cut::by_slots ? pieces : 1;
      const std::int64_t lane = std::max<std::int64_t>(1, (extent + lanes - 1) / lanes);
      const std::int64_t areas = stage.shared == SharedMode::common ? layout.local_size(rank) : 1;
      const std::int64_t wanted = (lane * stage.lanes * stage.buffers + areas - 1) / areas;
      load.area_elements = std::max(load.area_elements, wanted);
    }
  }
  return load;
}

}  // namespace unisono::proof
