// SPDX-License-Identifier: BSD-3-Clause
// Barriers by messages. They carry nothing: a token leaves when all that is written before it is done, and
// what is written after it waits for it to arrive.
#include "algorithms/building/compose.h"
#include "algorithms/building/phase_barriers.h"
#include "algorithms/building/trees.h"

namespace unisono::algorithms {

using patterns::Tree;
using patterns::TreeNode;
using schedule::Problem;
using schedule::Program;
using schedule::token;
using schedule::Writer;

namespace {

Program dissemination(const Problem& problem, const Parameters&) {
  const int rounds = patterns::ceil_log2(problem.size);
  return one_stage(message_stage({}, rounds, [=](int round, Writer& writer) {
    disseminate(problem.rank, round, problem.size, writer);
  }));
}

// Up one tree, and down another one with the same root.
Program along_trees(const Tree& up, const Tree& down, int rank) {
  return one_stage(
      message_stage({}, 2, [above = up.at(rank), below = down.at(rank)](int round, Writer& writer) {
        if (round == 0) {
          for (const TreeNode::Child& child : above.children) writer.recv(token(), child.rank);
          if (above.parent >= 0) writer.send(token(), above.parent);
        } else {
          if (below.parent >= 0) writer.recv(token(), below.parent);
          for (const TreeNode::Child& child : below.children) writer.send(token(), child.rank);
        }
      }));
}

// Winners of one round meet in the next one; who wins is known before.
Program tournament(const Problem& problem, const Parameters&) {
  return along_trees(Tree::binomial(problem.size, 0), Tree::flat(problem.size, 0), problem.rank);
}

Descriptor descriptor(std::string name, std::string_view group, std::string sentence, std::string source,
                      Program (*build)(const Problem&, const Parameters&)) {
  return {.name = std::move(name),
          .operation = Operation::barrier,
          .group = group,
          .sentence = std::move(sentence),
          .source = std::move(source),
          .legality = {},
          .parameters = {},
          .build = build};
}

Descriptor along(const TreeFamily& family) {
  Descriptor tree = descriptor(family.name, "tree",
                               "Ranks report, and the root's release comes back, " + family.phrase + ".",
                               family.source, nullptr);
  if (family.shape == TreeShape::flat) {
    tree.name = "central_counter";
    tree.group = "flat";
    tree.sentence = "Rank 0 counts all others' reports, then releases each.";
  }
  tree.parameters = family.parameters;
  tree.build = [&family](const Problem& problem, const Parameters& parameters) {
    const Tree both_ways = family.make(problem.size, 0, parameters);
    return along_trees(both_ways, both_ways, problem.rank);
  };
  return tree;
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all = {
      descriptor("dissemination", "exchange",
                 "In round r every rank tells the one 2^r above it that it has come.", "A5, section 3.2",
                 dissemination),
      descriptor(
          "tournament", "tree",
          "Pairs play rounds whose losers report to the winners; the champion releases everyone at once.",
          "beyond the sources", tournament)};
  for (const TreeFamily& family : tree_families()) {
    if (family.shape != TreeShape::chain) all.push_back(along(family));
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
