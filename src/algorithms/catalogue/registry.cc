// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>

#include "algorithms/catalogue/alone.h"
#include "algorithms/catalogue/descriptor.h"
#include "patterns/network.h"
#include "patterns/numbers.h"

namespace unisono::algorithms {

using schedule::Problem;

namespace {

using Make = std::vector<Descriptor> (*)();
using Compose = std::vector<Descriptor> (*)(const std::vector<Descriptor>&);

std::vector<Make>& makers() {
  static std::vector<Make> all;
  return all;
}
std::vector<Compose>& composers() {
  static std::vector<Compose> all;
  return all;
}

// Descriptors are large, and every process makes them: each is moved once.
void sort_by_place(std::vector<Descriptor>* all) {
  std::vector<Descriptor*> places;
  for (Descriptor& descriptor : *all) places.push_back(&descriptor);
  std::ranges::sort(places, [](const Descriptor* a, const Descriptor* b) {
    return std::tie(a->operation, a->name) < std::tie(b->operation, b->name);
  });
  std::vector<Descriptor> sorted;
  sorted.reserve(all->size());
  for (Descriptor* descriptor : places) sorted.push_back(std::move(*descriptor));
  *all = std::move(sorted);
}

std::vector<Descriptor> collect() {
  std::vector<Descriptor> all;
  for (const Make make : makers()) std::ranges::move(make(), std::back_inserter(all));
  sort_by_place(&all);
  std::vector<Descriptor> composed;
  for (const Compose compose : composers()) std::ranges::move(compose(all), std::back_inserter(composed));
  std::ranges::move(composed, std::back_inserter(all));
  for (Descriptor& descriptor : all) {
    descriptor.build = [build = std::move(descriptor.build)](const Problem& problem,
                                                             const Parameters& parameters) {
      return problem.size == 1 && !is_neighborhood(problem.operation) ? alone(problem)
                                                                      : build(problem, parameters);
    };
  }
  sort_by_place(&all);
  return all;
}

std::string ranks_or_nodes(int count, bool are_nodes) {
  return std::to_string(count) + (are_nodes ? " node" : " rank") + (count == 1 ? "" : "s");
}

std::string why_topology_forbids(const Legality& legality, const patterns::Layout& layout) {
  if (legality.needs_topology && layout.switches && !layout.switches->why_unusable.empty()) {
    return "needs a topology of this job: " + layout.switches->why_unusable;
  }
  if (legality.max_phases == 0) return {};
  std::vector<int> ranks;
  for (const auto& of_node : layout.ranks_of) ranks.push_back(of_node.front());
  const std::int64_t phases =
      patterns::Network(legality.needs_several_nodes ? layout.of_ranks(ranks) : layout).least_phases();
  if (phases <= legality.max_phases) return {};
  return "takes at most " + std::to_string(legality.max_phases) + " phases, on these switches there are " +
         std::to_string(phases);
}

std::string why_domains_forbid(const Problem& problem) {
  const patterns::Layout& layout = *problem.layout;
  if (layout.domains == nullptr) return "needs a node that caches, NUMA domains or sockets divide";
  if (problem.is_commutative || !is_reduction(problem.operation)) return {};
  if (!layout.has_domains_in_order())
    return "needs a commutative operator, as ranks in the domains are not consecutive";
  return problem.root == 0 ? "" : "needs a commutative operator, as the root is not the lowest rank";
}

std::string why_layout_forbids(const Legality& legality, const Problem& problem) {
  const patterns::Layout& layout = *problem.layout;
  if (legality.needs_one_node && layout.nodes() > 1) {
    return "needs all ranks on one node, there are " + ranks_or_nodes(layout.nodes(), true);
  }
  if (legality.needs_several_nodes) {
    if (layout.nodes() == 1) return "needs several nodes, there is 1";
    if (layout.nodes() == layout.size()) return "needs a node with more than one rank";
  }
  const int count = legality.needs_several_nodes ? layout.nodes() : problem.size;
  const std::string there_are =
      std::string(legality.needs_several_nodes ? "nodes" : "ranks") + ", there are " + std::to_string(count);
  if (legality.needs_power_of_two && !patterns::is_power_of_two(count)) {
    return "needs a power of two " + there_are;
  }
  if (legality.max_ranks != 0 && problem.size > legality.max_ranks)
    return "takes at most " + std::to_string(legality.max_ranks) + " ranks, there are " +
           std::to_string(problem.size);
  if (legality.needs_even && count % 2 != 0) return "needs an even number of " + there_are;
  if (legality.needs_consecutive && !layout.is_consecutive()) return "needs consecutive ranks on every node";
  if (legality.needs_whole_graph && problem.neighborhood != nullptr && !problem.neighborhood->is_whole())
    return "needs the neighbours of all ranks, which are told where they are few";
  if (legality.needs_domains)
    if (std::string why = why_domains_forbid(problem); !why.empty()) return why;
  return why_topology_forbids(legality, layout);
}

}  // namespace

Registration::Registration(Make make) {
  makers().push_back(make);
}

CompositionRegistration::CompositionRegistration(Compose make) {
  composers().push_back(make);
}

const std::vector<Descriptor>& registry() {
  static const std::vector<Descriptor> all = collect();
  return all;
}

const Descriptor* find(Operation operation, std::string_view name) {
  const auto found = std::ranges::find_if(
      registry(), [&](const Descriptor& d) { return d.operation == operation && d.name == name; });
  return found == registry().end() ? nullptr : &*found;
}

const std::vector<const Descriptor*>& agreements() {
  static const std::vector<const Descriptor*> all = [] {
    std::vector<const Descriptor*> found;
    for (const Descriptor& descriptor : registry())
      if (descriptor.place_among_agreements != 0) found.push_back(&descriptor);
    std::ranges::sort(found, {}, &Descriptor::place_among_agreements);
    return found;
  }();
  return all;
}

std::int64_t Parameters::get(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  std::fprintf(stderr, "unisono: an algorithm asks for the parameter '%.*s', which it does not declare\n",
               static_cast<int>(name.size()), name.data());
  std::abort();
}

std::int64_t Parameters::get_or(std::string_view name, std::int64_t otherwise) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  return otherwise;
}

void Parameters::set(std::string_view name, std::int64_t value) {
  for (auto& [known, old] : values_) {
    if (known == name) {
      old = value;
      return;
    }
  }
  values_.emplace_back(name, value);
}

Parameters with_standards(const Descriptor& descriptor, const Parameters& chosen) {
  Parameters parameters;
  for (const ParameterSpec& spec : descriptor.parameters) {
    parameters.set(spec.name, std::clamp(chosen.get_or(spec.name, spec.standard), spec.low, spec.high));
  }
  return parameters;
}

std::vector<Parameters> other_ways(const Descriptor& descriptor, const Parameters& chosen,
                                   std::int64_t bytes) {
  std::vector<Parameters> all;
  const auto add = [&](std::string_view name, std::int64_t value) {
    all.push_back(chosen);
    all.back().set(name, value);
  };
  for (const ParameterSpec& spec : descriptor.parameters) {
    const std::int64_t now = chosen.get_or(spec.name, spec.standard);
    if (spec.name == "of_nodes") add(spec.name, 1 - now);
    if (spec.name == "bundle_up_to" && bytes <= spec.high) add(spec.name, bytes <= now ? 0 : bytes);
    // Without anything that goes over a mesh it would be another algorithm.
    if (spec.name == "cell" && bytes > now && bytes <= spec.high) add(spec.name, bytes);
  }
  return all;
}

std::string why_illegal(const Descriptor& descriptor, const Problem& problem, std::int64_t bytes,
                        bool has_shared_memory, bool has_single_copy) {
  if (descriptor.engine == Engine::agents)
    return "is no schedule of the ranks: agents beside them make the call";
  const Legality& legality = descriptor.legality;
  if (std::string why = why_layout_forbids(legality, problem); !why.empty()) return why;
  if (problem.is_reproducible && is_reduction(problem.operation)) {
    if (!legality.keeps_one_order)
      return "joins operands in an order of its own, not in the reproducible one";
    if (legality.needs_several_nodes && !problem.layout->is_aligned()) {
      return "needs equally many consecutive ranks on every node, a power of two, to be reproducible";
    }
  }
  if (!problem.is_commutative) {
    if (legality.needs_commutative) return "needs a commutative operator";
    if (legality.needs_consecutive_unless_commutative && !problem.layout->is_consecutive()) {
      return "needs a commutative operator, as ranks on the nodes are not consecutive";
    }
  }
  if (legality.needs_shared_memory && !has_shared_memory) return "needs shared memory, there is none";
  if (legality.needs_single_copy && !has_single_copy) return "needs single copy, the kernel allows none";
  if (legality.takes(bytes, problem.size)) return {};
  return legality.max_bytes > 0 && bytes > legality.max_bytes
             ? "takes at most " + std::to_string(legality.max_bytes) + " bytes"
             : "takes at most " + std::to_string(legality.max_total_bytes) + " bytes in all blocks together";
}

}  // namespace unisono::algorithms
