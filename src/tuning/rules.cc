// SPDX-License-Identifier: BSD-3-Clause
// Built-in rules by layout and size class. They stand in for measurement; each names the observation that it
// rests on.
#include <initializer_list>
#include <string>

#include "tuning/decision.h"
#include "tuning/size_class.h"

namespace unisono::tuning {
namespace {

constexpr std::int64_t kib = 1024;

class Candidates {
 public:
  explicit Candidates(Operation operation) : operation_(operation) {}

  struct Setting {
    std::string_view name;
    std::int64_t value;
  };
  void add(const std::string& algorithm, std::string reason, std::initializer_list<Setting> settings = {}) {
    const algorithms::Descriptor* descriptor = algorithms::find(operation_, algorithm);
    if (descriptor == nullptr) return;
    Choice choice{.algorithm = descriptor, .reason = std::move(reason), .source = "rule"};
    for (const Setting& s : settings) choice.parameters.set(s.name, s.value);
    list_.push_back(std::move(choice));
  }
  void native(std::string reason) { list_.push_back({.reason = std::move(reason), .source = "rule"}); }
  std::vector<Choice> take() { return std::move(list_); }

 private:
  Operation operation_;
  std::vector<Choice> list_;
};

// Uneven blocks on one node. Where no length is common to all ranks one choice serves short blocks and long
// ones: lines and streams do both (without streams the kernel copies long blocks, in up to 5 times the MPI's
// own time). With 2 ranks they are 1.1 to 7 times as fast as Open MPI 4 and 5, MPICH 5 and Intel MPI, but for
// alltoallvs of 16 to 256 KiB under Intel MPI (0.75 to 0.93). The more ranks, the shorter are their rings:
// that was not measured with a core for each. Where ranks share cores alltoallvs of 32 and 64 KiB were behind
// the MPI's, and the others' figures not steady.
void of_uneven_blocks(const Question& question, Candidates* to) {
  constexpr int most_ranks = 8;  // whose rings hold 64 KiB
  const auto fused_or_native = [&] {
    if (question.has_streams && question.problem.size <= most_ranks && !question.is_oversubscribed)
      to->add("fused",
              "one node: short blocks travel in cache lines, long ones through a ring for each pair");
    to->native("uneven blocks of unknown lengths: nothing here is as fast as the MPI for all of them");
  };
  switch (question.problem.operation) {
    case Operation::allgatherv:
      if (question.bytes() <= kib)
        to->add("fused", "one node, small blocks: data and flag travel in one cache line");
      break;
    case Operation::alltoallv:
    case Operation::alltoallw:
      if (!question.is_oversubscribed) fused_or_native();
      break;
    case Operation::gatherv:
    case Operation::scatterv:
      fused_or_native();
      break;
    default:
      break;
  }
}

// Pieces of a slot, of ranks that have a core each. Where one rank writes what another one waits for, pieces
// let both copy at the same time: 1.01 to 1.34 times as fast as pieces of 256 KiB from 128 KiB to 1 MiB, with
// cores that share a cache and cores that do not (2 ranks; Open MPI 5, MPICH 5, Intel MPI). Where both write
// and read anyway smaller pieces only cost more waits (0.79 to 1.01 with 64 KiB), larger ones leave the
// caches.
std::int64_t piece_of(const Question& question) {
  constexpr std::int64_t whole = 256 * kib;
  const std::int64_t bytes = question.bytes();
  switch (question.problem.operation) {
    case Operation::bcast:
    case Operation::scatter:
    case Operation::scan:
    case Operation::exscan:
      return bytes <= 256 * kib ? 64 * kib : bytes <= 1024 * kib ? 128 * kib : whole;
    default:
      return whole;
  }
}

void on_one_node(const Question& question, Candidates* to) {
  of_uneven_blocks(question, to);
  const Operation operation = question.problem.operation;
  if (!has_uneven_blocks(operation) || is_reduction(operation))
    to->add("fused", "one node and a small message: data and flag travel in one cache line");
  const std::string why =
      "one node: every rank reads the node's shared buffer itself, without a tree of messages";
  if (question.is_oversubscribed) {
    // A piece costs a switch.
    to->add("shared", why, {{"buffers", 2}});
  } else {
    // Single copies, for which the kernel is asked, took 1.1 to 2.6 times as long from 32 to 96 KiB (2 ranks,
    // three MPIs).
    to->add("shared", why, {{"buffers", 4}, {"piece", piece_of(question)}});
  }
}

// What measurements between nodes rest on: 4 emulated nodes of 4 ranks, 1 Gbit/s, Open MPI 4 and 5, MPICH 5
// and Intel MPI (benchmarks/repository.py --layout nodes).
void on_several_nodes(const Question& question, Candidates* to) {
  const std::int64_t bytes = question.bytes();
  const bool has_full_nodes = question.largest_node() > 1;
  // A chain's last node waits for all others: for messages of few segments their number must be small.
  const bool has_few_nodes = question.problem.layout->nodes() <= 8;
  const std::string level = has_full_nodes ? "two_level_" : "";
  const std::string why =
      has_full_nodes ? "several ranks on a node: shared memory inside, one message stream per node between; "
                     : "one rank on each node; ";
  const std::string run_ahead = "small messages between nodes: the MPI's eager messages let ranks run ahead";
  // 48 KiB and a header stay below the 64 KiB at which MPIs over TCP begin to ask before they send.
  const std::initializer_list<Candidates::Setting> in_segments = {{"segment", 48 * kib}, {"window", 4}};
  const std::initializer_list<Candidates::Setting> in_small_segments = {{"segment", 8 * kib}};
  const std::string tiny =
      "several nodes: tiny blocks go in few messages, without a meeting inside the nodes";
  const std::string in_a_pipeline = "middle-sized messages of few segments go down a short chain";
  switch (question.problem.operation) {
    case Operation::barrier:
      to->add(level + "dissemination", why + "dissemination needs the fewest rounds");
      to->add("dissemination", "several nodes: dissemination needs the fewest rounds");
      break;
    case Operation::bcast:
      if (bytes <= 2 * kib) {
        // 0.9 to 7 times as fast as the MPIs' own at 8 B, 1.3 to 4.3 times at 256 B.
        if (has_full_nodes)
          to->add("two_level_fused_k_nomial",
                  why + "inside the nodes data and flag of a small message travel together");
        to->native(run_ahead);
      } else if (bytes <= 64 * kib) {
        // At 64 KiB 2.3 to 9 times as fast as the MPIs' own, the tree 1.0 to 6.4 times.
        if (bytes > 16 * kib && has_few_nodes)
          to->add(level + "chain", why + in_a_pipeline, in_small_segments);
        to->add(level + "binomial", why + "small messages want the shallow tree");
      } else {
        to->add(level + "chain", why + "large messages want the full bandwidth of a pipelined chain",
                in_segments);
      }
      break;
    case Operation::reduce:
      if (bytes > 64 * kib && question.problem.is_commutative) {
        to->add(level + "chain", why + "large vectors want the full bandwidth of a pipelined chain",
                in_segments);
      } else if (bytes > 32 * kib && question.problem.is_commutative && has_few_nodes) {
        // At 64 KiB 1.3 to 8.5 times as fast as the MPIs' own, the tree 0.6 to 4.9 times.
        to->add(level + "chain", why + in_a_pipeline, in_small_segments);
      }
      // 4 nodes of 2: a quarter of the time at 64 B, 0.4 at 4 KiB.
      if (has_full_nodes && bytes <= 4 * kib)
        to->add("two_level_fused_binomial",
                why + "inside the nodes data and flag of a small vector travel together");
      to->add(level + "binomial", why + "the shallow tree");
      break;
    case Operation::allreduce:
      if (bytes > 16 * kib && question.problem.is_commutative) {
        // 4 nodes of 2 and of 4, 64 KiB: 0.86 to 0.95 of the ring's time.
        if (bytes <= 64 * kib)
          to->add(level + "rabenseifner",
                  why + "middle-sized vectors want few rounds, and a share of them each");
        to->add(level + "ring", why + "large vectors want every link busy");
      }
      // 4 nodes of 4: 0.76 of the time at 64 B, 0.87 at 4 KiB.
      if (has_full_nodes && bytes <= 4 * kib)
        to->add("two_level_fused_recursive_doubling",
                why + "few rounds; inside the nodes data and flag of a small vector travel together");
      to->add(level + "recursive_doubling", why + "few rounds");
      break;
    case Operation::gather:
      // 0.8 to 2.8 times as fast as the MPIs' own.
      if (bytes <= 64) to->add("binomial", tiny);
      to->add(level + "binomial", why + "the root handles few messages");
      break;
    case Operation::scatter:
      // 0.8 to 2.2 times as fast as the MPIs' own.
      if (bytes <= 128) to->add("binomial", tiny);
      if (bytes <= 16 * kib) to->add(level + "binomial", why + "the root handles few messages");
      to->add("flat", "several nodes: each block leaves the root once, straight to its rank");
      break;
    case Operation::allgather:
      if (bytes <= 64) to->add(level + "recursive_doubling", why + "tiny blocks want the fewest rounds");
      if (bytes <= 4 * kib) to->add(level + "bruck", why + "small blocks want few rounds");
      to->add(level + "ring", why + "large blocks want neighbours only");
      break;
    case Operation::alltoall:
      if (bytes <= 256) to->add(level + "bruck", why + "small blocks want few messages");
      if (bytes <= 2 * kib) to->add(level + "pairwise", why + "node blocks travel together");
      if (bytes <= 4 * kib)
        to->native("blocks of middle size between nodes: nothing was measured ahead of the MPI's own");
      to->add("pairwise",
              "several nodes: large blocks travel once, to one rank at a time, so that no link is flooded",
              in_segments);
      break;
    case Operation::reduce_scatter_block:
    case Operation::reduce_scatter:
      // 1.1 to 2.4 times as fast as the MPIs' own up to 256 B, 3 to 4.4 times from 4 KiB on.
      if (has_full_nodes && bytes <= 4 * kib) {
        to->add("two_level_recursive_halving", why + "small blocks want few rounds");
        to->add("two_level_pairwise", why + "each node's blocks travel together");
      }
      if (bytes > 2 * kib) to->add(level + "ring", why + "large blocks want neighbours only");
      to->native("small blocks between single ranks, or operands that may not change places");
      break;
    case Operation::scan:
    case Operation::exscan:
      if (bytes <= 4 * kib) {
        to->native("a small scan: the MPI's eager messages let ranks run ahead");
      } else if (bytes <= 128 * kib) {
        // At 64 KiB 1.2 to 9.8 times as fast as the MPIs' own.
        if (has_few_nodes) to->add(level + "chain", why + in_a_pipeline, in_small_segments);
      } else if (has_few_nodes) {
        // From 1 MiB on 2.5 to 9.9 times.
        to->add("chain", "several nodes: a large vector is added up in a pipeline through all ranks",
                in_segments);
      }
      to->add(level + "recursive_doubling", why + "few rounds");
      break;
    case Operation::allgatherv:
      // 1.2 to 3.9 times as fast as the MPIs' own up to 256 B, 4 to 4.8 times at 4 KiB.
      if (has_full_nodes && bytes <= 4 * kib) {
        to->add("two_level_recursive_doubling", why + "small blocks want the fewest rounds");
        to->add("two_level_bruck", why + "small blocks want few rounds");
      }
      if (bytes > 2 * kib) to->add(level + "ring", why + "large blocks want neighbours only");
      to->native("small blocks between single ranks");
      break;
    case Operation::alltoallv:
    case Operation::alltoallw:
    case Operation::gatherv:
    case Operation::scatterv:
      to->native("several nodes: nothing was measured ahead of the MPI's own for this operation");
      break;
  }
}

// What joins in the one order, fastest first; the last of each operation does on any layout, with and without
// shared memory.
void in_one_order(const Question& question, Candidates* to) {
  const std::string why = "reproducible: ";
  const bool is_large = question.bytes() > 16 * kib;
  if (question.problem.layout->nodes() == 1) {
    const std::string on_node = why + "one node, ranks join what they read from each other in the one order";
    to->add("fused", on_node);
    to->add("shared", on_node,
            {{"buffers", question.is_oversubscribed ? 2 : 4},
             {"piece", question.is_oversubscribed ? 0 : 256 * kib}});
  }
  const std::string tree = why + "pairs of neighbours join at distance 1, 2, 4 ..., which is the one order";
  const std::string halves = why + "a large vector is halved while neighbours join it in the one order";
  const auto on_both_levels = [&](const std::string& algorithm, const std::string& reason) {
    to->add("two_level_" + algorithm, reason + ", inside the nodes first");
    to->add(algorithm, reason);
  };
  switch (question.problem.operation) {
    case Operation::allreduce:
      if (is_large) on_both_levels("rabenseifner", halves);
      on_both_levels("recursive_doubling", tree);
      break;
    case Operation::reduce:
      if (is_large) on_both_levels("rabenseifner", halves);
      on_both_levels("binomial", tree);
      break;
    case Operation::scan:
    case Operation::exscan:
      to->add("chain", why + "each rank adds its operand to what comes from the rank before");
      break;
    default:
      on_both_levels("recursive_halving", halves);
      break;
  }
}

class Rules : public Chooser {
 public:
  std::vector<Choice> candidates(const Question& question) override {
    Candidates list(question.problem.operation);
    if (question.problem.size == 1) {
      list.native("one rank: there is nothing to communicate");
    } else if (question.problem.is_reproducible) {
      in_one_order(question, &list);
    } else if (question.problem.layout->nodes() == 1) {
      on_one_node(question, &list);
    } else {
      on_several_nodes(question, &list);
    }
    return list.take();
  }
};

}  // namespace

std::unique_ptr<Chooser> make_rules() {
  return std::make_unique<Rules>();
}

}  // namespace unisono::tuning
