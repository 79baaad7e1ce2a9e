// SPDX-License-Identifier: BSD-3-Clause
// Short blocks on several nodes: each goes once into the memory of its own node. One message for each ordered
// pair of nodes with an edge carries what goes there, and all ranks copy what they want. C4, C8.
//
// Which messages there are follows from the neighbours of the node's own ranks alone, on both sides alike.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "algorithms/neighborhood/neighbor_tables.h"
#include "patterns/neighborhood.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// Where a rank finds what it waits for.
struct Slotted {
  int owner = 0;            // local rank
  std::int64_t number = 0;  // of the block in that rank's slot

  bool operator==(const Slotted&) const = default;
};

// Everything that is known before a call, shared by the rounds of the program. The numbers of its blocks are
// the first ones of the table.
struct Combined {
  Combined(const schedule::Problem& of, BlockNumbers* numbers);

  bool is_near(int rank) const { return problem.layout->node_of[static_cast<std::size_t>(rank)] == node; }
  int local(int rank) const { return problem.layout->local_rank_of[static_cast<std::size_t>(rank)]; }
  schedule::Ref in_slot(const Slotted& at, std::int64_t last) const;
  schedule::Ref in_slot(const Slotted& at) const { return in_slot(at, at.number + 1); }

  schedule::Problem problem;
  int node;
  bool has_one_block;
  patterns::NodeBundles bundles;
  std::vector<const patterns::Bundle*> sent, received;  // by this rank
  std::vector<std::int64_t> sent_first;  // number of each bundle's first block in scratch space
  std::vector<std::int64_t> in_slots;    // own block -> number for the slot
  std::vector<std::int64_t> combined;    // incoming block -> number
  std::vector<std::int64_t> slot_first;  // local rank -> its slot's first number
  // Local rank -> its own blocks -> numbers in its slot. What goes to one node stands in the order of the
  // bundle.
  std::vector<std::vector<std::int64_t>> own_in_slot;
  std::map<const patterns::Bundle*, std::int64_t> received_first;
  std::int64_t scratch = 0;

 private:
  void number_sent(BlockNumbers* numbers);
  void number_own(BlockNumbers* numbers);
  void number_slots(BlockNumbers* numbers);
  // `in_bundles`: which of its blocks go to other nodes, bundle by bundle.
  void number_own_in_slot(int rank, const std::vector<int>& in_bundles, BlockNumbers* numbers);
  schedule::Kept kept_in_slot(int rank, int index) const;
};

// The stage in which they go, one piece always: limits see to it that slots have room.
schedule::Stage combined_stage(const std::shared_ptr<const Combined>& plan, int buffers);

}  // namespace unisono::algorithms
