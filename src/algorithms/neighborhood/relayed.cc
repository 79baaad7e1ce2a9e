// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/neighborhood/relayed.h"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "algorithms/building/compose.h"

namespace unisono::algorithms {
namespace {

using patterns::Hop;
using patterns::Neighbor;
using patterns::no_neighbor;
using schedule::Kept;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;

// A block in scratch space: its number, where this rank knows its length, and where its room ends.
struct Room {
  std::int64_t first = 0, last = 0;
  Ref whole() const { return blocks(Place::scratch, first, last); }
  Ref as_block() const { return block(Place::scratch, first); }
};

struct Message {
  int peer = 0;
  std::vector<int> sources;
  std::vector<Room> rooms;  // beside them
  Ref all() const { return blocks(Place::scratch, rooms.front().first, rooms.back().last); }
};

struct Phase {
  std::vector<Message> received, sent;
};

class Relay {
 public:
  Relay(const Problem& problem, const Hops& hops, std::int64_t cell_bytes, bool is_node_told)
      : problem_(problem), is_node_told_(is_node_told) {
    BlockNumbers numbers(problem_);
    for (const std::vector<Hop>& of_phase : hops) {
      Phase& phase = phases_.emplace_back();
      add_messages(of_phase, &phase);
      for (Message& message : phase.received) number(&numbers, message.peer, &message);
      for (Message& message : phase.sent) number(&numbers, message.peer, &message);
    }
    scratch_ = numbers.next();
    own_ = numbers.add_input(0, Kept::in_bundle);
    own_long_ = numbers.add_input(0, Kept::beyond_bundle);
    own_always_ = numbers.add_input(0, Kept::always);
    const std::vector<Neighbor>& in = own().in;
    for (int i = 0; i < std::ssize(in); ++i) {
      const bool is_own = in[static_cast<std::size_t>(i)].rank == problem_.rank;
      short_.push_back(numbers.add_output(i, is_own ? Kept::always : Kept::in_bundle));
      long_.push_back(numbers.add_output(i, Kept::beyond_bundle));
    }
    numbers.table().limits = {.bundle_up_to = cell_bytes, .share_up_to = cell_bytes};
    table_ = numbers.take();
  }

  Program program(const std::shared_ptr<const Relay>& self) const {
    Program program;
    program.blocks = table_;
    program.scratch = scratch_;
    program.stages.push_back(
        message_stage({}, static_cast<int>(phases_.size()) + 1, [self](int round, Writer& writer) {
          round < std::ssize(self->phases_) ? self->write_phase(round, writer) : self->deliver(writer);
        }));
    program.stages_of_short = 1;
    program.stages.push_back(message_stage({}, 1, [self](int, Writer& writer) {
      write_messages(
          self->problem_,
          {.input = [&](int) { return block(Place::input, self->own_long_); },
           .output = [&](int i) { return block(Place::output, self->long_[static_cast<std::size_t>(i)]); }},
          writer);
    }));
    return program;
  }

 private:
  const patterns::Neighbors& own() const { return problem_.neighborhood->of(problem_.rank); }
  int node_of(int rank) const { return problem_.layout->node_of[static_cast<std::size_t>(rank)]; }

  void add_messages(const std::vector<Hop>& hops, Phase* phase) const {
    const auto collect = [&](bool are_sent, std::vector<Message>* messages) {
      std::map<int, std::vector<int>> by_peer;
      for (const Hop& hop : hops) {
        if ((are_sent ? hop.from : hop.to) == problem_.rank)
          by_peer[are_sent ? hop.to : hop.from].push_back(hop.block);
      }
      for (auto& [peer, sources] : by_peer) {
        std::ranges::sort(sources);
        messages->push_back({peer, std::move(sources), {}});
      }
      // From the next rank on around the circle: not all begin with the same one.
      const auto distance = [&](const Message& message) {
        const int way = are_sent ? message.peer - problem_.rank : problem_.rank - message.peer;
        return (way + problem_.size) % problem_.size;
      };
      std::ranges::sort(*messages, {}, distance);
    };
    collect(false, &phase->received);
    collect(true, &phase->sent);
  }

  // Where a rank sees the length of a block from: an edge that leads to it, or to a rank of its node.
  bool is_destination(int source, int rank) const {
    const std::vector<Neighbor>& out = problem_.neighborhood->of(source).out;
    return std::ranges::any_of(out, [&](const Neighbor& to) {
      return to.rank != no_neighbor &&
             (to.rank == rank || (is_node_told_ && node_of(to.rank) == node_of(rank)));
    });
  }
  bool knows_length(int rank, int source) {
    const auto [found, is_new] = known_.insert({{rank, source}, false});
    if (is_new) {
      const bool is_told = rank == source || (is_node_told_ && node_of(rank) == node_of(source));
      found->second = is_told || is_destination(source, rank);
    }
    return found->second;
  }

  std::int64_t add_known(BlockNumbers* numbers, int source, Kept kept) const {
    if (source == problem_.rank || (is_node_told_ && node_of(source) == node_of(problem_.rank)))
      return numbers->add_sent(source, 0, kept);
    const auto add_from = [&](int rank) {
      const std::vector<Neighbor>& in = problem_.neighborhood->of(rank).in;
      const auto edge = std::ranges::find(in, source, &Neighbor::rank);
      return edge == in.end() ? -1 : numbers->add_received(rank, static_cast<int>(edge - in.begin()), kept);
    };
    if (const std::int64_t number = add_from(problem_.rank); number >= 0) return number;
    for (const int rank : problem_.layout->ranks_of[static_cast<std::size_t>(node_of(problem_.rank))]) {
      if (const std::int64_t number = add_from(rank); number >= 0) return number;
    }
    throw std::logic_error("a block whose length nobody tells");
  }

  void number(BlockNumbers* numbers, int peer, Message* message) {
    for (const int source : message->sources) {
      Room room{numbers->next(), 0};
      if (!knows_length(problem_.rank, source)) {
        numbers->add_sent(problem_.rank, 0, Kept::cell);
      } else {
        add_known(numbers, source, Kept::in_bundle);
        if (!knows_length(peer, source)) add_known(numbers, source, Kept::behind_block);
      }
      room.last = numbers->next();
      message->rooms.push_back(room);
    }
  }

  void write_phase(int index, Writer& writer) const {
    const Phase& phase = phases_[static_cast<std::size_t>(index)];
    for (const Message& message : phase.received) writer.recv(message.all(), message.peer);
    for (const Message& message : phase.sent) {
      for (std::size_t i = 0; i < message.sources.size(); ++i) {
        const int source = message.sources[i];
        const Room& room = message.rooms[i];
        if (source == problem_.rank) {
          writer.copy(room.as_block(), block(Place::input, own_));
          continue;
        }
        const Room& found = arrived(source, index);
        // A cell goes on as a cell; who knows the block, moves that.
        writer.copy(room.as_block(), found.as_block());
      }
      writer.send(message.all(), message.peer);
    }
  }

  void deliver(Writer& writer) const {
    const std::vector<Neighbor>& in = own().in;
    for (int i = 0; i < std::ssize(in); ++i) {
      const int from = in[static_cast<std::size_t>(i)].rank;
      if (from == no_neighbor) continue;
      const Ref output = block(Place::output, short_[static_cast<std::size_t>(i)]);
      writer.copy(output, from == problem_.rank ? block(Place::input, own_always_)
                                                : arrived(from, static_cast<int>(phases_.size())).as_block());
    }
  }

  // Where the block of `source` first came in, before this phase.
  const Room& arrived(int source, int before) const {
    for (int phase = 0; phase < before; ++phase) {
      for (const Message& message : phases_[static_cast<std::size_t>(phase)].received) {
        const auto found = std::ranges::lower_bound(message.sources, source);
        if (found != message.sources.end() && *found == source)
          return message.rooms[static_cast<std::size_t>(found - message.sources.begin())];
      }
    }
    throw std::logic_error("a block is passed on that has not come");
  }

  const Problem problem_;
  bool is_node_told_;
  std::vector<Phase> phases_;
  std::map<std::pair<int, int>, bool> known_;
  std::int64_t scratch_ = 0;
  std::int64_t own_ = 0, own_long_ = 0, own_always_ = 0;  // numbers
  std::vector<std::int64_t> short_, long_;                // incoming block -> number
  std::shared_ptr<const schedule::BlockTable> table_;
};

}  // namespace

Program relayed(const Problem& problem, const Hops& hops, std::int64_t cell_bytes, bool is_node_told) {
  const auto relay = std::make_shared<const Relay>(problem, hops, cell_bytes, is_node_told);
  return relay->program(relay);
}

}  // namespace unisono::algorithms
