// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/levels.h"

#include <memory>
#include <utility>
#include <vector>

#include "algorithms/catalogue/alone.h"

namespace unisono::algorithms {

using patterns::Layout;
using schedule::Problem;
using schedule::Program;

namespace {

int leader_in(const Layout& layout, int root, int node) {
  return node == layout.node_of[root] ? root : layout.ranks_of[node].front();
}

Problem problem_of_node(const Problem& problem) {
  const Layout& layout = *problem.layout;
  const int leader = leader_in(layout, problem.root, layout.node_of[problem.rank]);
  Problem node = problem;
  node.size = layout.local_size(problem.rank);
  node.rank = layout.local_rank_of[problem.rank];
  node.root = layout.local_rank_of[leader];
  node.layout = std::make_shared<const Layout>(
      layout.domains == nullptr ? Layout::one_node(node.size)
                                : layout.of_ranks(layout.ranks_of[layout.node_of[problem.rank]]));
  node.blocks = {};
  return node;
}

using Common = KeptLayouts::Common;

thread_local KeptLayouts* kept = nullptr;

Common make_common(const Layout& layout) {
  std::vector<int> lowest_ranks;
  std::vector<std::int64_t> starts{0};
  for (const auto& ranks : layout.ranks_of) {
    lowest_ranks.push_back(ranks.front());
    starts.push_back(starts.back() + std::ssize(ranks));
  }
  return {std::make_shared<const Layout>(layout.of_ranks(lowest_ranks)),
          std::make_shared<const std::vector<std::int64_t>>(std::move(starts))};
}

Problem problem_of_leaders(const Problem& problem) {
  const Layout& layout = *problem.layout;
  const Common common = kept != nullptr ? kept->of(problem.layout) : make_common(layout);
  Problem leaders = problem;
  leaders.size = layout.nodes();
  leaders.rank = layout.node_of[problem.rank];
  leaders.root = layout.node_of[problem.root];
  leaders.is_in_place = false;
  leaders.layout = common.layout;
  leaders.blocks.starts = common.starts;
  return leaders;
}

}  // namespace

KeptLayouts::KeptLayouts() : before_(std::exchange(kept, this)) {}

KeptLayouts::~KeptLayouts() {
  kept = before_;
}

void KeptLayouts::begin(const std::shared_ptr<const Layout>& layout) {
  if (layout_ == layout) return;
  layout_ = layout;
  common_.reset();
  ranks_ = nullptr;
}

const Common& KeptLayouts::of(const std::shared_ptr<const Layout>& layout) {
  begin(layout);
  if (!common_) common_ = make_common(*layout);
  return *common_;
}

std::shared_ptr<const Layout> KeptLayouts::of_ranks(const std::shared_ptr<const Layout>& layout,
                                                    RanksOf ranks) {
  if (kept == nullptr) return std::make_shared<const Layout>(layout->of_ranks(ranks(*layout)));
  kept->begin(layout);
  if (kept->ranks_ != ranks) {
    kept->ranks_ = ranks;
    kept->of_ranks_ = std::make_shared<const Layout>(layout->of_ranks(ranks(*layout)));
  }
  return kept->of_ranks_;
}

Levels::Levels(const Problem& problem)
    : problem_(problem),
      node_(problem_of_node(problem)),
      leaders_(problem_of_leaders(problem)),
      is_leader_(node_.rank == node_.root) {}

int Levels::leader_of(int node) const {
  return leader_in(*problem_.layout, problem_.root, node);
}

std::vector<int> Levels::ranks_in_node_order() const {
  return patterns::node_order(*problem_.layout);
}

void Levels::add_node(Composition* composition, Operation operation, NodePhase phase,
                      const Parameters& parameters, const Mapping& mapping) const {
  add_node(composition, operation, phase, parameters, Turn(), mapping);
}

void Levels::add_node(Composition* composition, Operation operation, NodePhase phase,
                      const Parameters& parameters, const Turn& turn, const Mapping& mapping) const {
  Problem node = node_;
  node.operation = operation;
  if (node.size == 1) {
    composition->add(turn.is_next ? idle(alone(node)) : alone(node), mapping);
    return;
  }
  Program program = phase(node, parameters);
  if (turn.share.count < turn.share.of) program = narrowed(program, turn.share);
  for (schedule::Stage& stage : program.stages) {
    stage.continues_channel = turn.is_next;
    stage.begins_apart = turn.begins_apart;
  }
  composition->add(program, mapping);
}

void Levels::add_leaders(Composition* composition, const Descriptor& inter, const Parameters& parameters,
                         Mapping mapping, bool begins_apart) const {
  Program program = inter.build(leaders_, parameters);
  program.stages.front().begins_apart = begins_apart;
  mapping.rank_of = [layout = problem_.layout, root = problem_.root](int node) {
    return leader_in(*layout, root, node);
  };
  composition->add(is_leader_ ? program : idle(program), mapping);
}

}  // namespace unisono::algorithms
