// SPDX-License-Identifier: BSD-3-Clause
// Barriers by messages. They carry nothing: a token leaves when all that is written before it is done, and
// what is written after it waits for it to arrive.
#include "algorithms/compose.h"
#include "algorithms/trees.h"
#include "patterns/exchange.h"

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
    const patterns::Pair pair = patterns::dissemination(problem.rank, round, problem.size);
    writer.send(token(), pair.to);
    writer.recv(token(), pair.from);
  }));
}

// Up the tree, and down again.
Program along_tree(const Problem& problem, const Parameters&) {
  const TreeNode node = Tree::binomial(problem.size, 0).at(problem.rank);
  return one_stage(message_stage({}, 2, [=](int round, Writer& writer) {
    const bool is_up = round == 0;
    if (!is_up && node.parent >= 0) writer.recv(token(), node.parent);
    for (const TreeNode::Child& child : node.children) {
      if (is_up) writer.recv(token(), child.rank);
      if (!is_up) writer.send(token(), child.rank);
    }
    if (is_up && node.parent >= 0) writer.send(token(), node.parent);
  }));
}

std::vector<Descriptor> make() {
  return {{.name = "dissemination",
           .operation = Operation::barrier,
           .group = "exchange",
           .sentence = "In round r every rank tells the one 2^r above it that it has come.",
           .source = "A5, section 3.2",
           .legality = {},
           .parameters = {},
           .build = dissemination},
          {.name = "binomial",
           .operation = Operation::barrier,
           .group = "tree",
           .sentence = "Ranks report up a binomial tree, and the root's release comes down it.",
           .source = "A5, figure 3.1 (c)",
           .legality = {},
           .parameters = {},
           .build = along_tree}};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
