// SPDX-License-Identifier: BSD-3-Clause
// Gathers and scatters of uneven blocks: the root knows how long all are, every other rank its own. A5,
// figure 3.1; A2.
#include <utility>
#include <vector>

#include "algorithms/building/compose.h"
#include "algorithms/building/levels.h"
#include "algorithms/building/runs.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"
#include "algorithms/shared_memory/shared_blocks.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::Tree;
using patterns::TreeNode;
using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

namespace {

Program flat_scatter(const Problem& problem, const Parameters& parameters) {
  const Runs runs(problem);
  return one_stage(message_stage(parameters, 1, [=](int, Writer& writer) {
    if (problem.rank != problem.root) {
      writer.recv(runs.own(Place::output), problem.root);
      return;
    }
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      writer.send(runs.of(Place::input, peer), peer);
    }
    writer.copy(runs.own(Place::output), runs.of(Place::input, problem.rank));
  }));
}

Program flat_gather(const Problem& problem, const Parameters& parameters) {
  return reversed(flat_scatter(problem, parameters));
}

// Blocks keep their numbers: what a subtree has are its ranks' blocks, in two runs where a chain goes on from
// the last rank to the first.
std::vector<Ref> blocks_of(const Tree& tree, Place place, int first, int last) {
  std::vector<Ref> all;
  for (const Tree::Run& run : tree.ascending_runs(first, last))
    all.push_back(blocks(place, tree.rank_at(run.first), tree.rank_at(run.last - 1) + 1));
  return all;
}

// Each subtree's blocks from parent to children. A rank with both keeps them in scratch space.
// No segments: a leaf knows no lengths but its own, so ranks would not agree how many pieces there are.
Program scatter_along_tree(const Tree& tree, const Problem& problem, const Parameters& parameters) {
  const Runs runs(problem);
  const TreeNode node = tree.at(problem.rank);
  const bool is_root = node.parent < 0;
  const bool is_leaf = node.children.empty();
  const Place place = is_root ? Place::input : Place::scratch;
  auto write = [=, rank = problem.rank](int, Writer& writer) {
    if (is_leaf) writer.recv(runs.own(Place::output), node.parent);
    if (!is_root && !is_leaf) {
      for (const Ref& run : blocks_of(tree, place, node.first, node.last)) writer.recv(run, node.parent);
    }
    for (const auto& child : node.children) {
      for (const Ref& run : blocks_of(tree, place, child.first, child.last)) writer.send(run, child.rank);
    }
    if (!is_leaf) writer.copy(runs.own(Place::output), runs.of(place, rank));
  };
  return one_stage(message_stage(parameters, 1, write), is_root || is_leaf ? 0 : runs.total());
}

// Lengths go the way of the blocks, ahead of them, to those that pass blocks on.
Program tell_down(const Tree& tree, const Problem& problem) {
  return one_stage(message_stage({}, 1, [=, node = tree.at(problem.rank)](int, Writer& writer) {
    const auto lengths = [&](int first, int last) { return blocks_of(tree, Place::output, first, last); };
    if (node.parent >= 0 && !node.children.empty()) {
      for (const Ref& run : lengths(node.first, node.last)) writer.recv(run, node.parent);
    }
    for (const auto& child : node.children) {
      if (child.last - child.first == 1) continue;
      for (const Ref& run : lengths(child.first, child.last)) writer.send(run, child.rank);
    }
  }));
}

// The root knows them.
Program tell_up(const Tree& tree, const Problem& problem) {
  return one_stage(message_stage({}, 1, [=, node = tree.at(problem.rank)](int, Writer& writer) {
    if (node.parent < 0) return;
    const auto lengths = [&](int first, int last) { return blocks_of(tree, Place::output, first, last); };
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      for (const Ref& run : lengths(child->first, child->last)) writer.recv(run, child->rank);
    }
    if (node.parent == tree.root()) return;
    for (const Ref& run : lengths(node.first, node.last)) writer.send(run, node.parent);
  }));
}

}  // namespace

// Sender_put, Group_sync, Group_seg_get: a lane for each rank.
Program shared_scatter_blocks(const Problem& problem, const Parameters& parameters, std::int64_t first) {
  const Ref own = block(Place::output, first + problem.rank);
  if (problem.size == 1) return one_stage(local_stage([=](Writer& w) { w.copy(own, own.in(Place::input)); }));
  Stage stage = channel_stage(parameters, SharedMode::common, 1, [=](Writer& writer) {
    if (problem.rank != problem.root) {
      writer.await(problem.root, 1);
      writer.copy(own, own.in_slot_of(0, problem.rank));
      return;
    }
    writer.await_space();
    for (int peer = 0; peer < problem.size; ++peer) {
      const Ref theirs = block(Place::input, first + peer);
      if (peer != problem.rank) writer.copy(theirs.in_slot_of(0, peer), theirs);
    }
    writer.copy(own, own.in(Place::input));
  });
  stage.lanes = problem.size;
  return one_stage(std::move(stage));
}

// Group_seg_put, Group_sync, Receiver_get.
Program shared_gather_blocks(const Problem& problem, const Parameters& parameters, std::int64_t first) {
  const Ref own = block(Place::input, first + problem.rank);
  if (problem.size == 1)
    return one_stage(local_stage([=](Writer& w) { w.copy(own.in(Place::output), own); }));
  return one_stage(channel_stage(parameters, SharedMode::own, 1, [=](Writer& writer) {
    if (problem.rank != problem.root) {
      writer.await_space();
      writer.copy(own.in_slot_of(problem.rank), own);
      return;
    }
    writer.copy(own.in(Place::output), own);
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      const Ref theirs = block(Place::output, first + peer);
      writer.await(peer, 1);
      writer.copy(theirs, theirs.in_slot_of(peer));
    }
  }));
}

namespace {

Program shared_gather_of_all(const Problem& problem, const Parameters& parameters) {
  return shared_gather_blocks(problem, parameters, 0);
}
Program shared_scatter_of_all(const Problem& problem, const Parameters& parameters) {
  return shared_scatter_blocks(problem, parameters, 0);
}

// A node's blocks leave for the root as one message, or come from it. They keep their numbers also where a
// leader that is not the root collects them, in scratch space.
class TwoLevelBlocks {
 public:
  explicit TwoLevelBlocks(const Problem& problem) : problem_(problem), levels_(problem) {
    if (levels_.is_leader() && !is_root()) to_.reserve(problem.size);
  }

  Program gather(const Parameters& parameters) {
    to_.add(shared_gather_blocks(levels_.node(), parameters, levels_.first_position()),
            {.output = {is_root() ? Place::output : Place::scratch}});
    to_.add(message_stage({}, 1, [*this](int, Writer& writer) {
      if (!levels_.is_leader()) return;
      if (!is_root()) writer.send(run_of(levels_.leaders().rank, Place::scratch), problem_.root);
      for (const auto& [node, leader] : others()) writer.recv(run_of(node, Place::output), leader);
    }));
    return to_.take();
  }

  Program scatter(const Parameters& parameters) {
    to_.add(message_stage({}, 1, [*this](int, Writer& writer) {
      if (!levels_.is_leader()) return;
      if (!is_root()) writer.recv(run_of(levels_.leaders().rank, Place::scratch), problem_.root);
      for (const auto& [node, leader] : others()) writer.send(run_of(node, Place::input), leader);
    }));
    to_.add(shared_scatter_blocks(levels_.node(), parameters, levels_.first_position()),
            {.input = {is_root() ? Place::input : Place::scratch}});
    return to_.take();
  }

 private:
  bool is_root() const { return problem_.rank == problem_.root; }
  Ref run_of(int node, Place place) const {
    return blocks(place, levels_.leaders().blocks.first(node), levels_.leaders().blocks.last(node));
  }
  // At the root: the other nodes and their leaders.
  std::vector<std::pair<int, int>> others() const {
    std::vector<std::pair<int, int>> all;
    const patterns::Layout& layout = *problem_.layout;
    for (int distance = 1; is_root() && distance < layout.nodes(); ++distance) {
      const int node = wrap(levels_.leaders().rank + distance, layout.nodes());
      all.emplace_back(node, layout.ranks_of[node].front());
    }
    return all;
  }

  Problem problem_;
  Levels levels_;
  Composition to_;
};

Descriptor flat(Operation operation, std::string sentence, Descriptor::Build build) {
  return {.name = "flat",
          .operation = operation,
          .group = "flat",
          .sentence = std::move(sentence),
          .source = "A5, figure 3.1 (a)",
          .legality = {},
          .parameters = {},
          .build = std::move(build)};
}

Descriptor shared(Operation operation, std::string sentence, std::string source, Descriptor::Build build) {
  return {.name = "shared",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = std::move(source),
          .legality = {.needs_one_node = true, .needs_shared_memory = true},
          .parameters = {buffers_parameter(), piece_parameter()},
          .build = std::move(build),
          .build_header = fused_allgather,
          .build_header_aside = standard_shared_allgather};
}

Descriptor along(const TreeFamily& family, Operation operation) {
  const bool is_gather = operation == Operation::gatherv;
  const auto tree_of = [&family](const Problem& problem, const Parameters& parameters) {
    return family.make(problem.size, problem.root, parameters);
  };
  std::vector<ParameterSpec> parameters = family.parameters;
  parameters.push_back(blocking_parameter());
  return {.name = family.name,
          .operation = operation,
          .group = "tree",
          .sentence =
              (is_gather ? "Lengths, then blocks are collected " : "Lengths, then blocks are handed out ") +
              family.phrase + ".",
          .source = family.source,
          .legality = {},
          .parameters = std::move(parameters),
          .build =
              [=](const Problem& problem, const Parameters& parameters) {
                const Program scatter = scatter_along_tree(tree_of(problem, parameters), problem, parameters);
                return is_gather ? reversed(scatter) : scatter;
              },
          .build_tree_header =
              [=](const Problem& problem, const Parameters& parameters) {
                const Tree tree = tree_of(problem, parameters);
                return is_gather ? tell_up(tree, problem) : tell_down(tree, problem);
              }};
}

Descriptor two_level_flat(Operation operation, std::string sentence, Descriptor::Build build) {
  Descriptor descriptor = shared(operation, std::move(sentence), "G3; A5, figure 3.1 (a)", std::move(build));
  descriptor.name = "two_level_flat";
  descriptor.group = "two-level";
  descriptor.legality = {.needs_several_nodes = true, .needs_consecutive = true, .needs_shared_memory = true};
  return descriptor;
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all{
      flat(Operation::gatherv, "Blocks are collected between the root and every other rank directly.",
           flat_gather),
      flat(Operation::scatterv, "Blocks are handed out between the root and every other rank directly.",
           flat_scatter),
      fused_blocks(
          Operation::gatherv,
          "All write cache lines that carry data and flag, the root reads them; long blocks go in pieces "
          "through a ring of the pair, or are copied by the kernel, or go as messages.",
          flat_gather),
      fused_blocks(
          Operation::scatterv,
          "The root writes cache lines that carry data and flag, each rank reads its own; long blocks go "
          "in pieces through a ring of the pair, or are copied by the kernel, or go as messages.",
          flat_scatter),
      shared(Operation::gatherv,
             "Everyone tells how long its block is, then writes pieces of it, and the root reads them.",
             "A2, tables 2.2 and 2.3, row 3", shared_gather_of_all),
      shared(Operation::scatterv,
             "Everyone tells how long its block is, then the root writes pieces of all side by side, and "
             "each reads its own.",
             "A2, tables 2.2 and 2.3, row 2", shared_scatter_of_all),
      two_level_flat(
          Operation::gatherv,
          "Leaders collect their nodes' blocks through shared memory, and the root gets one message of each.",
          [](const Problem& problem, const Parameters& parameters) {
            return TwoLevelBlocks(problem).gather(parameters);
          }),
      two_level_flat(
          Operation::scatterv,
          "Each node's leader gets one message of the root, and hands the blocks out through shared memory.",
          [](const Problem& problem, const Parameters& parameters) {
            return TwoLevelBlocks(problem).scatter(parameters);
          })};
  all[1].parameters = {pace_parameter()};
  for (const TreeFamily& family : tree_families()) {
    if (family.shape == TreeShape::flat) continue;
    all.push_back(along(family, Operation::gatherv));
    all.push_back(along(family, Operation::scatterv));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
