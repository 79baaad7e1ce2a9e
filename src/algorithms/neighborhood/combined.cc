// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/neighborhood/combined.h"

#include <algorithm>
#include <tuple>

namespace unisono::algorithms {

using patterns::BlockOnWay;
using patterns::Bundle;
using patterns::no_neighbor;
using schedule::Kept;
using schedule::Place;
using schedule::Problem;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

Ref Combined::in_slot(const Slotted& at, std::int64_t last) const {
  Ref ref = blocks(Place::shared, at.number, last);
  ref.owner = at.owner;
  ref.lane_first = slot_first[static_cast<std::size_t>(at.owner)];
  return ref;
}

Combined::Combined(const Problem& of, BlockNumbers* numbers)
    : problem(of),
      node(of.layout->node_of[static_cast<std::size_t>(of.rank)]),
      has_one_block(numbers->has_one_block()),
      bundles(node_bundles(*of.neighborhood, *of.layout, node, has_one_block)) {
  for (const Bundle& bundle : bundles.sent) {
    if (bundle.sender == problem.rank) sent.push_back(&bundle);
  }
  for (const Bundle& bundle : bundles.received) {
    if (bundle.receiver == problem.rank) received.push_back(&bundle);
  }
  number_sent(numbers);
  number_own(numbers);
  number_slots(numbers);
}

void Combined::number_sent(BlockNumbers* numbers) {
  for (const Bundle* bundle : sent) {
    sent_first.push_back(numbers->next());
    for (const BlockOnWay& block : bundle->blocks)
      numbers->add_sent(block.owner, has_one_block ? 0 : block.index, Kept::in_bundle);
  }
  scratch = numbers->next();
}

// What goes both to the node and beyond is in the slot for whichever wants it.
Kept Combined::kept_in_slot(int rank, int index) const {
  if (has_one_block) return Kept::in_either;
  const int to = problem.neighborhood->of(rank).out[static_cast<std::size_t>(index)].rank;
  return to == no_neighbor || is_near(to) ? Kept::in_node : Kept::in_bundle;
}

void Combined::number_own(BlockNumbers* numbers) {
  const int count = numbers->sent_blocks(problem.rank);
  for (int i = 0; i < count; ++i) in_slots.push_back(numbers->add_input(i, kept_in_slot(problem.rank, i)));
  const std::vector<patterns::Neighbor>& in = numbers->own().in;
  for (int i = 0; i < std::ssize(in); ++i) {
    const int from = in[static_cast<std::size_t>(i)].rank;
    const bool is_local = from == no_neighbor || is_near(from);
    combined.push_back(numbers->add_output(i, is_local ? Kept::in_node : Kept::in_bundle));
  }
}

// What a rank has for another node is one run there, which its sender copies as a whole.
void Combined::number_own_in_slot(int rank, const std::vector<int>& in_bundles, BlockNumbers* numbers) {
  std::vector<std::int64_t>& own = own_in_slot.emplace_back(numbers->sent_blocks(rank), -1);
  const auto add = [&](int index) {
    std::int64_t& number = own[static_cast<std::size_t>(index)];
    if (number < 0) number = numbers->add_sent(rank, index, kept_in_slot(rank, index));
  };
  for (const int index : in_bundles) add(index);
  for (int i = 0; i < std::ssize(own); ++i) add(i);
}

void Combined::number_slots(BlockNumbers* numbers) {
  schedule::BlockTable& made = numbers->table();
  std::vector<std::vector<int>> in_bundles(problem.layout->ranks_of[static_cast<std::size_t>(node)].size());
  for (const Bundle& bundle : bundles.sent) {
    for (const BlockOnWay& block : bundle.blocks)
      in_bundles[static_cast<std::size_t>(local(block.owner))].push_back(has_one_block ? 0 : block.index);
  }
  for (const int rank : problem.layout->ranks_of[static_cast<std::size_t>(node)]) {
    slot_first.push_back(numbers->next());
    number_own_in_slot(rank, in_bundles[static_cast<std::size_t>(local(rank))], numbers);
    for (const Bundle& bundle : bundles.received) {
      if (bundle.receiver != rank) continue;
      received_first[&bundle] = numbers->next();
      for (const BlockOnWay& block : bundle.blocks)
        numbers->add_received(block.owner, block.index, Kept::in_bundle);
    }
    made.slots.push_back({slot_first.back(), numbers->next()});
  }
}

namespace {

// The steps of one rank, in the order of the program.
class Steps {
 public:
  Steps(const Combined& plan, Writer& writer) : plan_(plan), problem_(plan.problem), writer_(writer) {}

  void write() {
    writer_.await_space();
    put_own();
    writer_.signal(written);
    // A signal waits for what was to be received before it.
    for (const Bundle* bundle : plan_.received) {
      const std::int64_t first = plan_.received_first.at(bundle);
      writer_.recv(plan_.in_slot({plan_.local(problem_.rank), first}, first + std::ssize(bundle->blocks)),
                   bundle->sender);
    }
    for (std::size_t i = 0; i < plan_.sent.size(); ++i) send(*plan_.sent[i], plan_.sent_first[i]);
    write_copies(problem_,
                 {.input = [this](int i) { return input(plan_.in_slots, i); },
                  .output = [this](int i) { return output(plan_.combined, i); }},
                 writer_);
    get_from_node();
    if (plan_.bundles.received.empty()) return;
    writer_.signal(arrived);
    get_from_bundles();
  }

  // The ticks of a piece: the own blocks stand in the slot, what comes from other nodes does, all is read.
  static constexpr int written = 1, arrived = 2;

 private:
  const patterns::Neighbors& neighbors() const { return problem_.neighborhood->of(problem_.rank); }
  Ref input(const std::vector<std::int64_t>& numbers, int neighbor) const {
    return block(Place::input, numbers[plan_.has_one_block ? 0 : static_cast<std::size_t>(neighbor)]);
  }
  static Ref output(const std::vector<std::int64_t>& numbers, int neighbor) {
    return block(Place::output, numbers[static_cast<std::size_t>(neighbor)]);
  }
  Slotted of_rank(int rank, int index) const {
    const int local = plan_.local(rank);
    const auto block = static_cast<std::size_t>(plan_.has_one_block ? 0 : index);
    return {local, plan_.own_in_slot[static_cast<std::size_t>(local)][block]};
  }
  void await(int local, int tick) {
    if (local == plan_.local(problem_.rank) && tick == written) return;
    const auto [known, is_new] = awaited_.insert({{local, tick}, true});
    if (is_new) writer_.await(local, tick);
  }

  // Nobody else reads what only goes to this rank itself, or what a rank without neighbours gives.
  void put_own() {
    const patterns::Neighbors& own = neighbors();
    for (int i = 0; i < std::ssize(plan_.in_slots); ++i) {
      const bool is_wanted =
          plan_.has_one_block
              ? std::ranges::any_of(own.out, [&](const auto& to) { return is_for_others(to.rank); })
              : is_for_others(own.out[static_cast<std::size_t>(i)].rank);
      if (is_wanted)
        writer_.copy(plan_.in_slot(of_rank(problem_.rank, i)),
                     block(Place::input, plan_.in_slots[static_cast<std::size_t>(i)]));
    }
  }
  bool is_for_others(int to) const { return to != no_neighbor && to != problem_.rank; }

  void send(const Bundle& bundle, std::int64_t first) {
    std::int64_t number = first;
    const auto slotted = [&](std::size_t i) {
      return of_rank(bundle.blocks[i].owner, bundle.blocks[i].index);
    };
    for (std::size_t i = 0, last = 0; i < bundle.blocks.size(); i = last) {
      const Slotted run = slotted(i);
      std::int64_t end = run.number;
      while (last < bundle.blocks.size() && slotted(last) == Slotted{run.owner, end}) ++last, ++end;
      await(run.owner, written);
      const std::int64_t count = end - run.number;
      writer_.copy(blocks(Place::scratch, number, number + count), plan_.in_slot(run, end));
      number += count;
    }
    writer_.send(blocks(Place::scratch, first, number), bundle.receiver);
  }

  void get_from_node() {
    const patterns::Neighbors& own = neighbors();
    for (const int i : in_receiving_order(problem_)) {
      const patterns::Neighbor& from = own.in[static_cast<std::size_t>(i)];
      if (from.rank == problem_.rank || !plan_.is_near(from.rank)) continue;
      await(plan_.local(from.rank), written);
      writer_.copy(output(plan_.combined, i), plan_.in_slot(of_rank(from.rank, sent_index(problem_, from))));
    }
  }

  void get_from_bundles() {
    using Key = std::tuple<int, int, int>;
    const patterns::Neighbors& own = neighbors();
    std::multimap<Key, int> edges;  // a block -> its incoming edges
    for (int i = 0; i < std::ssize(own.in); ++i) {
      const auto& [from, edge] = own.in[static_cast<std::size_t>(i)];
      if (from == no_neighbor || plan_.is_near(from)) continue;
      edges.insert({plan_.has_one_block ? Key{from, no_neighbor, 0} : Key{from, problem_.rank, edge}, i});
    }
    for (const Bundle& bundle : plan_.bundles.received) {
      std::int64_t number = plan_.received_first.at(&bundle);
      const int owner = plan_.local(bundle.receiver);
      for (const BlockOnWay& way : bundle.blocks) {
        const auto [first, last] = edges.equal_range(Key{way.source, way.destination, way.edge});
        for (auto edge = first; edge != last; ++edge) {
          if (owner != plan_.local(problem_.rank)) await(owner, arrived);
          writer_.copy(output(plan_.combined, edge->second), plan_.in_slot({owner, number}));
        }
        ++number;
      }
    }
  }

  const Combined& plan_;
  const Problem& problem_;
  Writer& writer_;
  std::map<std::pair<int, int>, bool> awaited_;
};

}  // namespace

Stage combined_stage(const std::shared_ptr<const Combined>& plan, int buffers) {
  Stage stage;
  stage.rounds = 1;
  stage.write = [plan](int, Writer& writer) { Steps(*plan, writer).write(); };
  stage.extent = 0;
  stage.shared = schedule::SharedMode::own;
  stage.ticks = plan->bundles.received.empty() ? Steps::arrived : Steps::arrived + 1;
  stage.buffers = buffers;
  return stage;
}

}  // namespace unisono::algorithms
