// SPDX-License-Identifier: BSD-3-Clause
#include "model/layers.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::model {
namespace {

using patterns::Layout;
using schedule::Problem;

constexpr std::string_view fused_prefix = "two_level_fused_", prefix = "two_level_";

struct Names {
  std::string inside, between;
};

std::optional<Names> names_of(const algorithms::Descriptor& algorithm) {
  const std::string_view name = algorithm.name;
  if (name.starts_with(fused_prefix)) return Names{"fused", std::string(name.substr(fused_prefix.size()))};
  if (!name.starts_with(prefix)) return std::nullopt;
  const bool has_channel = algorithm.operation != Operation::barrier;
  return Names{has_channel ? "shared" : "fused", std::string(name.substr(prefix.size()))};
}

// What is done, a node's ranks together having `node` blocks, and all ranks `all`.
std::vector<Layer> phases(Operation operation, std::int64_t bytes, std::int64_t node, std::int64_t all) {
  const auto inside = [](Operation of, std::int64_t size) { return Layer{.operation = of, .bytes = size}; };
  const auto between = [operation](std::int64_t size) {
    return Layer{.operation = operation, .is_between_nodes = true, .bytes = size};
  };
  switch (operation) {
    case Operation::barrier:
      return {inside(Operation::barrier, 0), between(0)};
    case Operation::bcast:
      return {between(bytes), inside(Operation::bcast, bytes)};
    case Operation::reduce:
      return {inside(Operation::reduce, bytes), between(bytes)};
    case Operation::allreduce:
      return {inside(Operation::reduce, bytes), between(bytes), inside(Operation::bcast, bytes)};
    case Operation::gather:
      return {inside(Operation::gather, bytes), between(bytes * node)};
    case Operation::scatter:
      return {between(bytes * node), inside(Operation::scatter, bytes)};
    case Operation::allgather:
      return {inside(Operation::gather, bytes), between(bytes * node), inside(Operation::bcast, bytes * all)};
    default:
      return {};
  }
}

int most_ranks_of_a_node(const Layout& layout) {
  std::size_t most = 0;
  for (const std::vector<int>& ranks : layout.ranks_of) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

Problem problem_of(const Layer& layer, const Problem& whole) {
  const Layout& layout = *whole.layout;
  Problem problem{.operation = layer.operation, .is_commutative = whole.is_commutative};
  if (layer.is_between_nodes) {
    problem.layout = std::make_shared<const Layout>(*Layout::parse(std::to_string(layout.nodes()) + "x1"));
    problem.root = layout.node_of[static_cast<std::size_t>(whole.root)];
  } else {
    problem.layout = std::make_shared<const Layout>(Layout::one_node(most_ranks_of_a_node(layout)));
  }
  problem.size = problem.layout->size();
  return problem;
}

algorithms::Parameters own_of(const algorithms::Descriptor& algorithm, const algorithms::Parameters& all) {
  algorithms::Parameters own = with_standards(algorithm);
  for (const algorithms::ParameterSpec& spec : algorithm.parameters)
    own.set(spec.name, all.get_or(spec.name, spec.standard));
  return own;
}

}  // namespace

bool has_layers(const algorithms::Descriptor& algorithm) {
  const auto names = names_of(algorithm);
  return names && !phases(algorithm.operation, 0, 0, 0).empty() &&
         algorithms::find(algorithm.operation, names->between) != nullptr;
}

std::optional<std::vector<Layer>> layers_of(const Candidate& candidate, const Problem& problem,
                                            std::int64_t bytes, const Machine& machine,
                                            const PredictOptions& options) {
  if (candidate.algorithm == nullptr || !has_layers(*candidate.algorithm)) return std::nullopt;
  const Names names = *names_of(*candidate.algorithm);
  std::vector<Layer> layers =
      phases(problem.operation, bytes, most_ranks_of_a_node(*problem.layout), problem.layout->size());
  Machine inside = machine;
  inside.call_us = 0;  // it is one call
  for (Layer& layer : layers) {
    layer.algorithm = layer.is_between_nodes ? names.between : names.inside;
    const algorithms::Descriptor* algorithm = algorithms::find(layer.operation, layer.algorithm);
    if (algorithm == nullptr) return std::nullopt;
    const auto us =
        predict_us(*algorithm, own_of(*algorithm, candidate.parameters), problem_of(layer, problem),
                   layer.bytes, layer.is_between_nodes ? machine : inside, options);
    if (!us) return std::nullopt;
    layer.us = *us;
  }
  return layers;
}

}  // namespace unisono::model
