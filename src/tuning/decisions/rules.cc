// SPDX-License-Identifier: BSD-3-Clause
// Built-in rules by layout and size class. They stand in for measurement; each names the observation that it
// rests on.
#include <string>
#include <vector>

#include "tuning/decisions/decision.h"
#include "tuning/decisions/rule_candidates.h"
#include "tuning/decisions/size_class.h"

namespace unisono::tuning {
namespace {

constexpr std::int64_t kib = 1024;

// Uneven blocks on one node. Where no length is common to all ranks one choice serves short blocks and long
// ones: lines and streams do both. Without streams the kernel copies long blocks, in up to 5 times the MPI's
// own time. With 2 ranks lines and streams are 1.1 to 7 times as fast as Open MPI 4 and 5, MPICH 5 and Intel
// MPI. Only alltoallvs of 16 to 256 KiB under Intel MPI are not (0.75 to 0.93). The more ranks, the shorter
// are their rings: that was not measured with a core for each. Where ranks share cores alltoallvs of 32 and
// 64 KiB were behind the MPI's, and the others' figures not steady.
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
// let both copy at the same time. From 128 KiB to 1 MiB that is 1.01 to 1.34 times as fast as pieces of 256
// KiB (2 ranks; Open MPI 5, MPICH 5, Intel MPI). It holds for cores that share a cache and cores that do not.
// Where both write and read anyway smaller pieces only cost more waits (0.79 to 1.01 with 64 KiB), larger
// ones leave the caches.
std::int64_t piece_of(const Question& question) {
  constexpr std::int64_t whole = 256 * kib;
  const std::int64_t bytes = question.bytes();
  const OperationTraits& of_it = traits(question.problem.operation);
  const bool waits_for_another =
      of_it.root == Root::gives || of_it.joined == Joined::up_to_own || of_it.joined == Joined::before_own;
  if (!waits_for_another) return whole;
  return bytes <= 256 * kib ? 64 * kib : bytes <= 1024 * kib ? 128 * kib : whole;
}

// They go by the length of each block: what is long goes by itself. Between nodes that costs
// telling each other of lengths: 0.88 to 1.1 times as fast as the MPIs' own (4 emulated nodes of 4 ranks,
// Open MPI 5).
void of_neighbors(const Question& question, Candidates* to) {
  const Operation operation = question.problem.operation;
  if (question.problem.layout->nodes() == 1) {
    // Without streams long blocks are copied by the kernel, or messages.
    constexpr std::int64_t most_in_lines = kib;
    if (question.has_streams || question.bytes() <= most_in_lines)
      to->add("fused",
              "one node: what one rank has for another travels in cache lines, long blocks in a ring");
    to->add("shared", "one node: each block is written once, and read by whoever wants it");
    return to->native("no two ranks share memory: nothing here is as fast as the MPI");
  }
  const bool has_one_block = !sends_neighbor_blocks(operation);
  const std::int64_t most_bundled = has_one_block ? 4 * kib : 256;
  const bool is_long = question.bytes() > most_bundled;
  // 1.0 to 3.9 times as fast as the MPIs' own from 8 KiB to 1 MiB (4 emulated nodes of 4 ranks; Open MPI 5,
  // MPICH 5, Intel MPI). Longer ones were not measured.
  constexpr std::int64_t most_measured = 1024 * kib;
  if (has_one_block && is_long && question.bytes() <= most_measured && question.largest_node() > 1)
    to->add("once", "several nodes and long blocks: each goes once to each node that wants it");
  if (is_long || question.largest_node() == 1)
    to->native("several nodes: nothing was measured ahead of the MPI's own for such blocks, or single ranks");
  to->add("bundles",
          "several nodes: messages to all neighbours on a node are combined, inside nodes there are none");
  if (!is_long && question.largest_node() <= 4)
    to->add("mesh",
            "several nodes of few ranks: blocks go over a mesh of them, in few messages of each rank");
  to->add("once", "several nodes: each block goes once to each node that wants it");
  to->native("several nodes: no two ranks share memory");
}

// From so many ranks of a node on small messages go along its caches, NUMA domains and sockets. That was not
// measured, but predicted for the machine many-cores: 1.07 times as fast with 2 domains of 8 ranks, 2.6 times
// on 64 cores, 7.8 times on 192. A broadcast was not, since all read one line at once, and long messages were
// not. Where ranks share cores each would wait for others' turns.
bool goes_along_domains(const Question& question) {
  constexpr int least_ranks = 16;
  return question.problem.layout->domains != nullptr && !question.is_oversubscribed &&
         question.largest_node() >= least_ranks;
}

void on_one_node(const Question& question, Candidates* to) {
  if (is_neighborhood(question.problem.operation)) return of_neighbors(question, to);
  of_uneven_blocks(question, to);
  const Operation operation = question.problem.operation;
  if (goes_along_domains(question) && operation != Operation::bcast)
    to->add("fused_domains", "one node of several domains: one line leaves each cache and NUMA domain");
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
class BetweenNodes {
 public:
  BetweenNodes(const Question& question, Candidates* to) : question_(question), to_(to) {}

  void add() {
    switch (question_.problem.operation) {
      case Operation::barrier:
        return barrier();
      case Operation::bcast:
        return bcast();
      case Operation::reduce:
        return reduce();
      case Operation::allreduce:
        return allreduce();
      case Operation::gather:
        return gather();
      case Operation::scatter:
        return scatter();
      case Operation::allgather:
        return allgather();
      case Operation::alltoall:
        return alltoall();
      case Operation::reduce_scatter_block:
      case Operation::reduce_scatter:
        return scattered_reduction();
      case Operation::scan:
      case Operation::exscan:
        return scan();
      case Operation::allgatherv:
        return allgatherv();
      case Operation::alltoallv:
      case Operation::alltoallw:
      case Operation::gatherv:
      case Operation::scatterv:
        return of_unknown_lengths();
      case Operation::neighbor_allgather:
      case Operation::neighbor_allgatherv:
      case Operation::neighbor_alltoall:
      case Operation::neighbor_alltoallv:
      case Operation::neighbor_alltoallw:
        return of_neighbors(question_, to_);
    }
  }

 private:
  void barrier() {
    // 4 nodes of 4 on 2 cores: 0.73 to 0.87 of dissemination's time, 3 of 4: 0.92. 8 of 2: the same time, and
    // the more nodes, the longer is the row of messages at one leader. Predicted for ranks with a core each
    // is 1.2 times dissemination's time.
    const int nodes = question_.problem.layout->nodes();
    if (question_.is_oversubscribed && has_full_nodes_ && (nodes == 3 || nodes == 4))
      to_->add("two_level_central_counter",
               why_ + "where ranks share cores few messages count more than few rounds");
    to_->add(level_ + "dissemination", why_ + "dissemination needs the fewest rounds", along_domains());
    to_->add("dissemination", "several nodes: dissemination needs the fewest rounds");
  }
  void bcast() {
    if (bytes_ <= 2 * kib) {
      // 0.9 to 7 times as fast as the MPIs' own at 8 B, 1.3 to 4.3 times at 256 B.
      if (has_full_nodes_)
        to_->add("two_level_fused_k_nomial",
                 why_ + "inside the nodes data and flag of a small message travel together");
      to_->native(run_ahead_);
    } else if (bytes_ <= 64 * kib) {
      // At 64 KiB 2.3 to 9 times as fast as the MPIs' own, the tree 1.0 to 6.4 times.
      if (bytes_ > 16 * kib && has_few_nodes_)
        to_->add(level_ + "chain", why_ + in_a_pipeline_, in_small_segments_);
      to_->add(level_ + "binomial", why_ + "small messages want the shallow tree");
    } else {
      to_->add(level_ + "chain", why_ + "large messages want the full bandwidth of a pipelined chain",
               in_segments_);
    }
  }
  void reduce() {
    if (bytes_ > 64 * kib && question_.problem.is_commutative) {
      to_->add(level_ + "chain", why_ + "large vectors want the full bandwidth of a pipelined chain",
               in_segments_);
    } else if (bytes_ > 32 * kib && question_.problem.is_commutative && has_few_nodes_) {
      // At 64 KiB 1.3 to 8.5 times as fast as the MPIs' own, the tree 0.6 to 4.9 times.
      to_->add(level_ + "chain", why_ + in_a_pipeline_, in_small_segments_);
    }
    // 4 nodes of 2: a quarter of the time at 64 B, 0.4 at 4 KiB.
    if (has_full_nodes_ && bytes_ <= 4 * kib)
      to_->add("two_level_fused_binomial",
               why_ + "inside the nodes data and flag of a small vector travel together", along_domains());
    to_->add(level_ + "binomial", why_ + "the shallow tree");
  }
  void allreduce() {
    if (bytes_ > 16 * kib && question_.problem.is_commutative) {
      // 4 nodes of 2 and of 4, 64 KiB: 0.86 to 0.95 of the ring's time.
      if (bytes_ <= 64 * kib)
        to_->add(level_ + "rabenseifner",
                 why_ + "middle-sized vectors want few rounds, and a share of them each");
      to_->add(level_ + "ring", why_ + "large vectors want every link busy");
    }
    // 4 nodes of 4: 0.76 of the time at 64 B, 0.87 at 4 KiB.
    if (has_full_nodes_ && bytes_ <= 4 * kib)
      to_->add("two_level_fused_recursive_doubling",
               why_ + "few rounds; inside the nodes data and flag of a small vector travel together",
               along_domains());
    to_->add(level_ + "recursive_doubling", why_ + "few rounds");
  }
  // Blocks of a gather or scatter that are short enough for the nodes' cache lines. None but leaders deal in
  // messages then. Measured were 4 nodes of 4 and 2 of 8, Open MPI 5 and MPICH 5. Gathers take 0.3 to 1.0 of
  // the time of a binomial tree of all ranks. Scatters above 64 B take 0.2 to 0.6 of it, shorter ones do so
  // on Open MPI 5 alone.
  void in_lines() {
    if (!has_full_nodes_) return;
    if (has_few_nodes_) to_->add("two_level_fused_flat", why_ + in_a_line_);
    to_->add("two_level_fused_binomial", why_ + in_a_line_);
  }
  void gather() {
    in_lines();
    // 0.8 to 2.8 times as fast as the MPIs' own.
    if (bytes_ <= 64) to_->add("binomial", tiny_);
    to_->add(level_ + "binomial", why_ + "the root handles few messages");
  }
  void scatter() {
    if (bytes_ > 64) in_lines();
    // 0.8 to 2.2 times as fast as the MPIs' own.
    if (bytes_ <= 128) to_->add("binomial", tiny_);
    if (bytes_ <= 16 * kib) to_->add(level_ + "binomial", why_ + "the root handles few messages");
    to_->add("flat", "several nodes: each block leaves the root once, straight to its rank");
  }
  void allgather() {
    if (bytes_ <= 64) to_->add(level_ + "recursive_doubling", why_ + "tiny blocks want the fewest rounds");
    if (bytes_ <= 4 * kib) to_->add(level_ + "bruck", why_ + "small blocks want few rounds");
    to_->add(level_ + "ring", why_ + "large blocks want neighbours only");
  }
  void alltoall() {
    if (bytes_ <= 256) to_->add(level_ + "bruck", why_ + "small blocks want few messages");
    if (bytes_ <= 2 * kib) to_->add(level_ + "pairwise", why_ + "node blocks travel together");
    if (bytes_ <= 4 * kib)
      to_->native("blocks of middle size between nodes: nothing was measured ahead of the MPI's own");
    to_->add("pairwise",
             "several nodes: large blocks travel once, to one rank at a time, so that no link is flooded",
             in_segments_);
  }
  void scattered_reduction() {
    // 1.1 to 2.4 times as fast as the MPIs' own up to 256 B, 3 to 4.4 times from 4 KiB on.
    if (has_full_nodes_ && bytes_ <= 4 * kib) {
      to_->add("two_level_recursive_halving", why_ + "small blocks want few rounds");
      to_->add("two_level_pairwise", why_ + "each node's blocks travel together");
    }
    if (bytes_ > 2 * kib) to_->add(level_ + "ring", why_ + "large blocks want neighbours only");
    to_->native("small blocks between single ranks, or operands that may not change places");
  }
  void scan() {
    if (bytes_ <= 4 * kib) {
      to_->native("a small scan: the MPI's eager messages let ranks run ahead");
    } else if (bytes_ <= 128 * kib) {
      // At 64 KiB 1.2 to 9.8 times as fast as the MPIs' own.
      if (has_few_nodes_) to_->add(level_ + "chain", why_ + in_a_pipeline_, in_small_segments_);
    } else if (has_few_nodes_) {
      // From 1 MiB on 2.5 to 9.9 times.
      to_->add("chain", "several nodes: a large vector is added up in a pipeline through all ranks",
               in_segments_);
    }
    to_->add(level_ + "recursive_doubling", why_ + "few rounds");
  }
  void allgatherv() {
    // 1.2 to 3.9 times as fast as the MPIs' own up to 256 B, 4 to 4.8 times at 4 KiB.
    if (has_full_nodes_ && bytes_ <= 4 * kib) {
      to_->add("two_level_recursive_doubling", why_ + "small blocks want the fewest rounds");
      to_->add("two_level_bruck", why_ + "small blocks want few rounds");
    }
    if (bytes_ > 2 * kib) to_->add(level_ + "ring", why_ + "large blocks want neighbours only");
    to_->native("small blocks between single ranks");
  }
  void of_unknown_lengths() {
    to_->native("several nodes: nothing was measured ahead of the MPI's own for this operation");
  }

  std::vector<Candidates::Setting> along_domains() const {
    if (!has_full_nodes_ || !goes_along_domains(question_)) return {};
    return {{"domains", 1}};
  }

  const Question& question_;
  Candidates* to_;
  const std::int64_t bytes_ = question_.bytes();
  const bool has_full_nodes_ = question_.largest_node() > 1;
  // A chain's last node waits for all others: for messages of few segments their number must be small.
  const bool has_few_nodes_ = question_.problem.layout->nodes() <= 8;
  const std::string level_ = has_full_nodes_ ? "two_level_" : "";
  const std::string why_ =
      has_full_nodes_ ? "several ranks on a node: shared memory inside, one message stream per node between; "
                      : "one rank on each node; ";
  const std::string run_ahead_ = "small messages between nodes: the MPI's eager messages let ranks run ahead";
  // 48 KiB and a header stay below the 64 KiB at which MPIs over TCP begin to ask before they send.
  const std::vector<Candidates::Setting> in_segments_ = {{"segment", 48 * kib}, {"window", 4}};
  const std::vector<Candidates::Setting> in_small_segments_ = {{"segment", 8 * kib}};
  const std::string in_a_line_ = "inside the nodes data and flag of a small block travel together";
  const std::string tiny_ =
      "several nodes: tiny blocks go in few messages, without a meeting inside the nodes";
  const std::string in_a_pipeline_ = "middle-sized messages of few segments go down a short chain";
};

void on_several_nodes(const Question& question, Candidates* to) {
  BetweenNodes(question, to).add();
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
