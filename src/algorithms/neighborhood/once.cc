// SPDX-License-Identifier: BSD-3-Clause
// Short blocks go as `bundles` has it. Each longer one goes once to each node that wants it, cut into pieces,
// to one of the ranks that want it. From there the others of the node get it, through that rank's slots. C4,
// C8.
//
// Both ends of an edge know how long a block is, and so how it is cut. Who receives for a node follows from
// the lists of neighbours, at the sender and on the node alike.
#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/neighborhood/combined.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {
namespace {

using patterns::Neighbor;
using patterns::no_neighbor;
using schedule::Kept;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

// Where long blocks go, by what the node knows.
class LongBlocks {
 public:
  LongBlocks(std::shared_ptr<const Combined> combined, BlockNumbers* numbers, int pieces)
      : combined_(std::move(combined)), problem_(combined_->problem), pieces_(pieces) {
    find_receivers();
    find_wanted();
    find_held();
    for (int piece = 0; piece < pieces; ++piece) {
      near_input_.push_back(numbers->add_input(0, Kept::beyond_node, piece));
      far_input_.push_back(numbers->add_input(0, Kept::beyond_bundle, piece));
    }
    const std::vector<Neighbor>& in = own().in;
    for (int i = 0; i < std::ssize(in); ++i) {
      const int from = in[static_cast<std::size_t>(i)].rank;
      const bool is_local = from == no_neighbor || is_near(from);
      output_.push_back(numbers->next());
      for (int piece = 0; piece < pieces; ++piece)
        numbers->add_output(i, is_local ? Kept::beyond_node : Kept::beyond_bundle, piece);
    }
  }

  // How many pieces the rank that has most puts into its slots.
  int waves() const {
    std::size_t most = 0;
    for (const auto& [rank, blocks] : held_) most = std::max(most, blocks.size());
    return static_cast<int>(most) * pieces_;
  }

  // Between nodes, and what a rank has for itself.
  void write_messages(Writer& writer) const {
    for (const int i : in_receiving_order(problem_)) {
      const int from = own().in[static_cast<std::size_t>(i)].rank;
      if (is_near(from) || receiver_of(from) != problem_.rank || wanted_.at(from).front() != i) continue;
      for (int piece = 0; piece < pieces_; ++piece) writer.recv(output(i, piece), from);
    }
    for (const int i : in_sending_order(problem_)) {
      const int to = own().out[static_cast<std::size_t>(i)].rank;
      if (is_near(to) || !is_first_to(i)) continue;
      const int other = problem_.layout->node_of[static_cast<std::size_t>(to)];
      if (receiver_on_.at(other) != to) continue;
      for (int piece = 0; piece < pieces_; ++piece)
        writer.send(block(Place::input, far_input_[static_cast<std::size_t>(piece)]), to);
    }
    for (const auto& [from, edges] : wanted_) {
      if (from == problem_.rank) {
        for (const int i : edges) {
          for (int piece = 0; piece < pieces_; ++piece) writer.copy(output(i, piece), near_input(piece));
        }
      } else if (!is_near(from) && receiver_of(from) == problem_.rank) {
        for (std::size_t k = 1; k < edges.size(); ++k) {
          for (int piece = 0; piece < pieces_; ++piece)
            writer.copy(output(edges[k], piece), output(edges.front(), piece));
        }
      }
    }
  }

  // One piece of each rank goes through its slots. `wave` counts the pieces of all blocks that a rank has.
  void write_wave(int wave, Writer& writer) const {
    const auto index = static_cast<std::size_t>(wave / pieces_);
    const int piece = wave % pieces_;
    writer.await_space();
    if (const int source = source_held(problem_.rank, index); source != no_neighbor) {
      const Ref held =
          source == problem_.rank ? near_input(piece) : output(wanted_.at(source).front(), piece);
      writer.copy(held.in_slot_of(local(problem_.rank)), held);
    }
    writer.signal(1);
    const std::vector<int>& ranks = ranks_of_node();
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      const int owner = ranks[(static_cast<std::size_t>(local(problem_.rank)) + k) % ranks.size()];
      const auto edges = wanted_.find(source_held(owner, index));
      if (edges == wanted_.end()) continue;
      writer.await(local(owner), 1);
      for (const int i : edges->second) {
        const Ref got = output(i, piece);
        writer.copy(got, got.in_slot_of(local(owner)));
      }
    }
  }

 private:
  const patterns::Neighbors& own() const { return problem_.neighborhood->of(problem_.rank); }
  bool is_near(int rank) const { return combined_->is_near(rank); }
  int local(int rank) const { return combined_->local(rank); }
  const std::vector<int>& ranks_of_node() const {
    return problem_.layout->ranks_of[static_cast<std::size_t>(combined_->node)];
  }
  Ref near_input(int piece) const {
    return block(Place::input, near_input_[static_cast<std::size_t>(piece)]);
  }
  Ref output(int edge, int piece) const {
    return block(Place::output, output_[static_cast<std::size_t>(edge)] + piece);
  }

  // Not always the first of those that want it: nobody is to receive more than others.
  static int chosen(const std::vector<int>& ranks, int source) {
    return ranks[static_cast<std::size_t>(source) % ranks.size()];
  }
  int receiver_of(int source) const { return chosen(readers_.at(source), source); }
  // Several edges may lead to one rank.
  bool is_first_to(int edge) const {
    const Neighbor& to = own().out[static_cast<std::size_t>(edge)];
    const auto same = std::ranges::find(own().out, to.rank, &Neighbor::rank);
    return same - own().out.begin() == edge;
  }

  void find_receivers() {
    std::map<int, std::vector<int>> there;
    for (const Neighbor& to : own().out) {
      if (to.rank != no_neighbor && !is_near(to.rank))
        there[problem_.layout->node_of[static_cast<std::size_t>(to.rank)]].push_back(to.rank);
    }
    for (auto& [node, ranks] : there) {
      sort_distinct(&ranks);
      receiver_on_[node] = chosen(ranks, problem_.rank);
    }
  }

  void find_wanted() {
    for (int i = 0; i < std::ssize(own().in); ++i) {
      const int from = own().in[static_cast<std::size_t>(i)].rank;
      if (from != no_neighbor) wanted_[from].push_back(i);
    }
    for (const int rank : ranks_of_node()) {
      for (const Neighbor& from : problem_.neighborhood->of(rank).in) {
        if (from.rank != no_neighbor) readers_[from.rank].push_back(rank);
      }
    }
    for (auto& [source, ranks] : readers_) sort_distinct(&ranks);
  }

  // A rank's own block comes first: it is there from the start.
  void find_held() {
    std::map<int, std::vector<std::pair<int, int>>> sorted;  // rank -> distance, source
    for (const auto& [source, ranks] : readers_) {
      const int holder = is_near(source) ? source : chosen(ranks, source);
      const bool is_for_others = std::ranges::any_of(ranks, [&](int rank) { return rank != holder; });
      if (is_for_others) sorted[holder].emplace_back(patterns::wrap(holder - source, problem_.size), source);
    }
    for (auto& [holder, blocks] : sorted) {
      std::ranges::sort(blocks);
      for (const auto& [distance, source] : blocks) held_[holder].push_back(source);
    }
  }

  int source_held(int rank, std::size_t index) const {
    const auto found = held_.find(rank);
    return found == held_.end() || index >= found->second.size() ? no_neighbor : found->second[index];
  }

  static void sort_distinct(std::vector<int>* ranks) {
    std::ranges::sort(*ranks);
    ranks->erase(std::ranges::unique(*ranks).begin(), ranks->end());
  }

  const std::shared_ptr<const Combined> combined_;
  const Problem& problem_;
  int pieces_;
  std::map<int, int> receiver_on_;                    // other node -> who there receives this rank's block
  std::map<int, std::vector<int>> wanted_;            // source -> this rank's incoming edges from there
  std::map<int, std::vector<int>> readers_;           // source -> ranks of the node that want its block
  std::map<int, std::vector<int>> held_;              // rank of the node -> whose blocks others get from it
  std::vector<std::int64_t> near_input_, far_input_;  // piece -> number
  std::vector<std::int64_t> output_;                  // incoming block -> number of its first piece
};

Program build(const Problem& problem, const Parameters& parameters) {
  const auto pieces = static_cast<int>(parameters.get("pieces"));
  const auto buffers = static_cast<int>(parameters.get("buffers"));
  BlockNumbers numbers(problem);
  const auto combined = std::make_shared<const Combined>(problem, &numbers);
  const auto apart = std::make_shared<const LongBlocks>(combined, &numbers, pieces);
  numbers.table().limits = {.bundle_up_to = parameters.get("bundle_up_to"),
                            .share_up_to = parameters.get("share_up_to"),
                            .piece = parameters.get("piece_of_block"),
                            .most_pieces = pieces};
  Program program;
  program.blocks = numbers.take();
  program.scratch = combined->scratch;
  program.stages.push_back(combined_stage(combined, buffers));
  program.stages_of_short = 1;
  program.stages.push_back(
      message_stage({}, 1, [apart](int, Writer& writer) { apart->write_messages(writer); }));
  for (int wave = 0; wave < apart->waves(); ++wave) {
    Stage stage;
    stage.rounds = 1;
    stage.write = [apart, wave](int, Writer& writer) { apart->write_wave(wave, writer); };
    stage.extent = 1;  // the longest piece of a block of the node
    stage.shared = schedule::SharedMode::own;
    stage.ticks = 2;  // it is written, and all is read
    stage.buffers = buffers;
    stage.continues_channel = wave > 0;
    program.stages.push_back(std::move(stage));
  }
  return program;
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::neighbor_allgather, Operation::neighbor_allgatherv}) {
    all.push_back(
        {.name = "once",
         .operation = operation,
         .group = "combined",
         .sentence =
             "Short blocks go as in bundles; each longer one goes once to each node that wants it, and "
             "from the rank that gets it through slots to the others there.",
         .source = "C4; C8",
         .legality = {.needs_several_nodes = true, .needs_shared_memory = true},
         .parameters =
             {{"bundle_up_to", "bytes", 0, 1 << 20, 4096,
               "longest block that travels between nodes in a bundle; longer ones go once to each node"},
              {"share_up_to", "bytes", 0, 1 << 30, 1 << 30,
               "longest block that stands as a whole in a slot of its node, as far as slots hold it; longer "
               "ones "
               "go through slots in pieces"},
              {"piece_of_block", "bytes", 0, 1 << 30, 64 << 10,
               "size of the pieces that a longer block is cut into, as far as it makes no more than "
               "`pieces`"},
              {"pieces", "", 1, 16, 1, "the most pieces that a block is cut into"},
              call_buffers_parameter()},
         .build = build,
         .build_header = fused_allgather,
         .build_header_aside = standard_shared_allgather});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
