// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/traffic.h"

#include <algorithm>
#include <map>
#include <utility>

#include "patterns/index.h"
#include "patterns/node_partners.h"

namespace unisono::patterns {
namespace {

std::int64_t most(const std::vector<std::int64_t>& counts) {
  return counts.empty() ? 0 : std::ranges::max(counts);
}

// Every rank copies what its neighbours send it.
void copy_what_arrives(const Neighborhood& neighborhood, Traffic* traffic) {
  for (int rank = 0; rank < neighborhood.size(); ++rank) {
    const auto is_real = [](const Neighbor& from) { return from.rank != no_neighbor; };
    traffic->copy(rank, std::ranges::count_if(neighborhood.of(rank).in, is_real));
  }
}

// Each rank's own blocks go into the node's memory.
void copy_own(const Neighborhood& neighborhood, bool has_one_block, Traffic* traffic) {
  for (int rank = 0; rank < neighborhood.size(); ++rank)
    traffic->copy(rank, has_one_block ? 1 : std::ssize(neighborhood.of(rank).out));
}

}  // namespace

Traffic::Traffic(const Layout& layout, int most_cells)
    : layout_(layout),
      cells_(std::min(layout.nodes(), most_cells)),
      messages_now_(at(layout.size())),
      copies_now_(at(layout.size())),
      blocks_copied_now_(at(layout.size())),
      inside_now_(at(layout.size())),
      into_now_(at(layout.nodes())),
      out_of_now_(at(layout.nodes())),
      sent_(at(layout.size())),
      sent_away_(at(layout.size())),
      blocks_into_(at(layout.nodes())),
      matrix_(at(cells_) * at(cells_)) {}

int Traffic::cell_of(int node) const {
  return static_cast<int>(static_cast<std::int64_t>(node) * cells_ / layout_.nodes());
}

void Traffic::begin_phase(int barriers) {
  end_phase();
  is_open_ = true;
  phase_ = {.barriers = barriers};
}

void Traffic::end_phase() {
  if (!is_open_) return;
  is_open_ = false;
  phase_.messages = most(messages_now_);
  phase_.copies = most(copies_now_);
  phase_.blocks_copied = most(blocks_copied_now_);
  phase_.blocks_inside = most(inside_now_);
  phase_.blocks_between = std::max(most(into_now_), most(out_of_now_));
  phases_.push_back(phase_);
  for (auto* counts :
       {&messages_now_, &copies_now_, &blocks_copied_now_, &inside_now_, &into_now_, &out_of_now_})
    std::ranges::fill(*counts, 0);
}

void Traffic::send(int from, int to, std::int64_t blocks) {
  const int from_node = layout_.node_of[at(from)], to_node = layout_.node_of[at(to)];
  ++sent_[at(from)];
  ++messages_now_[at(from)];
  ++messages_now_[at(to)];
  blocks_ += blocks;
  if (from_node == to_node) {
    inside_now_[at(from)] += blocks;
    inside_now_[at(to)] += blocks;
    return;
  }
  ++sent_away_[at(from)];
  out_of_now_[at(from_node)] += blocks;
  into_now_[at(to_node)] += blocks;
  blocks_into_[at(to_node)] += blocks;
  ++matrix_[at(cell_of(from_node)) * at(cells_) + at(cell_of(to_node))];
}

void Traffic::copy(int rank, std::int64_t blocks, std::int64_t runs) {
  copies_now_[at(rank)] += runs;
  blocks_copied_now_[at(rank)] += blocks;
}

Traffic linear_traffic(const Neighborhood& neighborhood, const Layout& layout) {
  Traffic traffic(layout);
  traffic.begin_phase();
  for (int rank = 0; rank < neighborhood.size(); ++rank) {
    for (const Neighbor& to : neighborhood.of(rank).out) {
      if (to.rank != no_neighbor && to.rank != rank) traffic.send(rank, to.rank, 1);
    }
  }
  traffic.finish();
  return traffic;
}

Traffic bundle_traffic(const Neighborhood& neighborhood, const Layout& layout, bool has_one_block,
                       const std::function<void(double)>& progress) {
  Traffic traffic(layout);
  traffic.begin_phase();
  copy_own(neighborhood, has_one_block, &traffic);
  traffic.begin_phase(1);
  for (int node = 0; node < layout.nodes(); ++node) {
    for (const Bundle& bundle : node_bundles(neighborhood, layout, node, has_one_block).sent) {
      // What one rank has for a node is one run in its slot.
      std::int64_t runs = 0;
      for (std::size_t i = 0; i < bundle.blocks.size(); ++i)
        runs += i == 0 || bundle.blocks[i - 1].owner != bundle.blocks[i].owner;
      traffic.copy(bundle.sender, std::ssize(bundle.blocks), runs);
      traffic.send(bundle.sender, bundle.receiver, std::ssize(bundle.blocks));
    }
    if (progress) progress(static_cast<double>(node + 1) / layout.nodes());
  }
  traffic.begin_phase(1);
  copy_what_arrives(neighborhood, &traffic);
  traffic.finish();
  return traffic;
}

Traffic once_traffic(const Destinations& destinations, const Neighborhood& neighborhood,
                     const Layout& layout) {
  Traffic traffic(layout);
  traffic.begin_phase();
  copy_own(neighborhood, true, &traffic);
  traffic.begin_phase(1);
  for (int rank = 0; rank < std::ssize(destinations); ++rank) {
    std::vector<std::pair<int, int>> there;  // nodes and ranks
    for (const int to : destinations[at(rank)]) there.emplace_back(layout.node_of[at(to)], to);
    std::ranges::sort(there);
    for (auto first = there.begin(); first != there.end();) {
      const auto last =
          std::find_if(first, there.end(), [&](const auto& other) { return other.first != first->first; });
      // Not always the first of those that want it: nobody is to receive more than others.
      const auto receiver = first + rank % (last - first);
      if (first->first != layout.node_of[at(rank)]) traffic.send(rank, receiver->second, 1);
      first = last;
    }
  }
  traffic.begin_phase(1);
  copy_what_arrives(neighborhood, &traffic);
  traffic.finish();
  return traffic;
}

namespace {

// Blocks that a rank sends to each destination in the name of others too.
class Payloads {
 public:
  explicit Payloads(const Destinations& destinations) : of_(destinations.size()) {
    for (int rank = 0; rank < std::ssize(destinations); ++rank) {
      for (const int to : destinations[at(rank)]) of_[at(rank)][to] = {rank};
    }
  }
  // What `from` has for these goes to `to`; how many blocks that takes, each once.
  std::int64_t hand_over(int from, int to, const std::vector<int>& destinations) {
    std::vector<int> all;
    for (const int destination : destinations) {
      auto& own = of_[at(from)][destination];
      all.insert(all.end(), own.begin(), own.end());
      auto& other = of_[at(to)][destination];
      other.insert(other.end(), own.begin(), own.end());
      of_[at(from)].erase(destination);
    }
    std::ranges::sort(all);
    return std::ranges::unique(all).begin() - all.begin();
  }
  std::int64_t blocks(int from, int destination) { return std::ssize(of_[at(from)][destination]); }

 private:
  std::vector<std::map<int, std::vector<int>>> of_;
};

void exchange(const Group& group, Payloads* payloads, Traffic* traffic) {
  for (int index = 0; index < std::ssize(group.members); ++index) {
    const std::vector<int> part = payloads != nullptr ? part_of(group, index) : std::vector<int>();
    const int member = group.members[at(index)];
    for (const int other : group.members) {
      if (other != member)
        traffic->send(other, member, payloads != nullptr ? payloads->hand_over(other, member, part) : 1);
    }
  }
}

void send_combined(const Group& group, Traffic* traffic) {
  for (int index = 0; index < std::ssize(group.members); ++index) {
    for (const int to : part_of(group, index))
      traffic->send(group.members[at(index)], to, std::ssize(group.members));
  }
}

}  // namespace

Traffic group_traffic(const Grouping& grouping, const Destinations& destinations, const Layout& layout,
                      Combining combining) {
  Traffic traffic(layout);
  const bool is_cumulative = combining == Combining::cumulative;
  Payloads payloads(is_cumulative ? destinations : Destinations());
  for (const auto& groups : grouping.steps) {
    traffic.begin_phase();
    for (const Group& group : groups) exchange(group, is_cumulative ? &payloads : nullptr, &traffic);
    if (is_cumulative) continue;
    traffic.begin_phase();
    for (const Group& group : groups) send_combined(group, &traffic);
  }
  traffic.begin_phase();
  for (int rank = 0; rank < std::ssize(grouping.left); ++rank) {
    for (const int to : grouping.left[at(rank)])
      traffic.send(rank, to, is_cumulative ? payloads.blocks(rank, to) : 1);
  }
  traffic.finish();
  return traffic;
}

Traffic mesh_traffic(const Destinations& destinations, const Neighborhood& neighborhood, const Layout& layout,
                     const VirtualMesh& mesh, MeshOf of) {
  const bool is_of_nodes = of == MeshOf::nodes;
  std::vector<Wish> wishes;
  for (int rank = 0; rank < std::ssize(destinations); ++rank) {
    const auto point = [&](int other) { return is_of_nodes ? layout.node_of[at(other)] : other; };
    int last = -1;
    for (const int to : destinations[at(rank)]) {
      if (point(to) != last) wishes.push_back({rank, point(rank), point(to)});
      last = point(to);
    }
  }
  Traffic traffic(layout);
  traffic.begin_phase();
  copy_own(neighborhood, true, &traffic);
  for (const std::vector<Hop>& hops : hops_over(mesh, wishes)) {
    traffic.begin_phase(is_of_nodes ? 1 : 0);
    for (auto first = hops.begin(); first != hops.end();) {
      const auto last = std::find_if(first, hops.end(), [&](const Hop& other) {
        return other.from != first->from || other.to != first->to;
      });
      const int from = is_of_nodes ? rank_for(layout, first->from, first->to) : first->from;
      const int to = is_of_nodes ? rank_for(layout, first->to, first->from) : first->to;
      traffic.copy(from, last - first);
      traffic.send(from, to, last - first);
      first = last;
    }
  }
  traffic.begin_phase(is_of_nodes ? 1 : 0);
  copy_what_arrives(neighborhood, &traffic);
  traffic.finish();
  return traffic;
}

}  // namespace unisono::patterns
