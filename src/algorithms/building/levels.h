// SPDX-License-Identifier: BSD-3-Clause
// The two levels of a layout, as problems of their own: this rank's node, and the nodes' leaders (G3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/building/compose.h"
#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// While one lives, what all ranks' programs have in common of a layout is made once on this thread, for
// whoever asks for them one after the other.
class KeptLayouts {
 public:
  struct Common {
    std::shared_ptr<const patterns::Layout> layout;           // of the leaders
    std::shared_ptr<const std::vector<std::int64_t>> starts;  // their nodes' blocks
  };
  KeptLayouts();
  ~KeptLayouts();
  KeptLayouts(const KeptLayouts&) = delete;
  KeptLayouts& operator=(const KeptLayouts&) = delete;
  const Common& of(const std::shared_ptr<const patterns::Layout>& layout);

  // The layout of some ranks of another one, in an order that follows from that one alone; made anew where
  // nothing is kept.
  using RanksOf = std::vector<int> (*)(const patterns::Layout&);
  static std::shared_ptr<const patterns::Layout> of_ranks(
      const std::shared_ptr<const patterns::Layout>& layout, RanksOf ranks);

 private:
  void begin(const std::shared_ptr<const patterns::Layout>& layout);

  std::shared_ptr<const patterns::Layout> layout_;
  std::optional<Common> common_;
  RanksOf ranks_ = nullptr;
  std::shared_ptr<const patterns::Layout> of_ranks_;
  KeptLayouts* before_;
};

class Levels {
 public:
  // The root leads its node, so that no data goes to a leader first; elsewhere the node's lowest rank leads.
  explicit Levels(const schedule::Problem& problem);

  // This rank's node: ranks are local ranks, the root is the leader.
  const schedule::Problem& node() const { return node_; }
  // The leaders: ranks are nodes, the root is the root's node, a node owns as many blocks as it has ranks, in
  // the order of the nodes. For a rank that does not lead the problem of its node's leader.
  const schedule::Problem& leaders() const { return leaders_; }
  bool is_leader() const { return is_leader_; }
  int leader_of(int node) const;  // its rank among all
  // Node order: nodes in turn, each one's ranks ascending. Equal to the order of ranks where these are
  // consecutive on the nodes.
  bool is_in_rank_order() const { return problem_.layout->is_consecutive(); }
  std::int64_t first_position() const { return leaders_.blocks.first(leaders_.rank); }  // this node's
  std::vector<int> ranks_in_node_order() const;
  int size() const { return problem_.size; }  // all ranks

  // A phase inside this rank's node; a rank that has the node for itself does what is to be done alone. All
  // such phases have one stage.
  using NodePhase = schedule::Program (*)(const schedule::Problem&, const Parameters&);
  void add_node(Composition* composition, Operation operation, NodePhase phase, const Parameters& parameters,
                const Mapping& mapping = {}) const;
  // The same for a share of each piece; `is_next` to another stage of the same phase, on its channel.
  struct Turn {
    Share share;
    bool is_next = false;
    bool begins_apart = false;
  };
  void add_node(Composition* composition, Operation operation, NodePhase phase, const Parameters& parameters,
                const Turn& turn, const Mapping& mapping = {}) const;
  // `inter` among the leaders, and as many idle stages on the other ranks.
  void add_leaders(Composition* composition, const Descriptor& inter, const Parameters& parameters,
                   Mapping mapping = {}, bool begins_apart = false) const;

 private:
  schedule::Problem problem_;
  schedule::Problem node_;
  schedule::Problem leaders_;
  bool is_leader_;
};

}  // namespace unisono::algorithms
