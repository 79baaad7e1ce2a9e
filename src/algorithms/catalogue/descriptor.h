// SPDX-License-Identifier: BSD-3-Clause
// An algorithm is one descriptor and one pure function. The descriptor is the only place where its name,
// group, legality, parameters, sentence and source stand; commands, docs, tables and tests read it from the
// registry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "schedule/program.h"

namespace unisono::algorithms {

struct ParameterSpec {
  std::string_view name;  // "segment", "window", "degree", "buffers" ...
  std::string_view unit;  // "bytes", "pieces", "" ...
  std::int64_t low, high, standard;
  std::string_view help;
};

// Values by name; what is not set has the descriptor's standard value.
class Parameters {
 public:
  Parameters() = default;
  std::int64_t get(
      std::string_view name) const;  // aborts on a name that was neither set nor given a standard value
  std::int64_t get_or(std::string_view name, std::int64_t otherwise) const;
  void set(std::string_view name, std::int64_t value);
  const std::vector<std::pair<std::string, std::int64_t>>& values() const { return values_; }
  bool operator==(const Parameters&) const = default;

 private:
  std::vector<std::pair<std::string, std::int64_t>> values_;
};

// When an algorithm may run. The registry enforces it whatever a table or a user asks for.
struct Legality {
  bool needs_power_of_two = false;  // number of ranks (of nodes, for the inter-node level of a composition)
  bool needs_even = false;          // the same number
  bool needs_commutative = false;
  bool needs_one_node = false;  // all ranks share memory
  // Caches, NUMA domains or sockets divide the node. Operands that may not be exchanged need domains of
  // consecutive ranks, and the lowest one as the root.
  bool needs_domains = false;
  bool needs_several_nodes = false;  // two-level: at least two nodes, at least one with more than one rank
  bool needs_consecutive = false;    // every node holds consecutive ranks
  bool needs_consecutive_unless_commutative = false;
  bool needs_shared_memory = false;
  bool needs_single_copy = false;
  // Of neighbours: Problem::neighborhood has those of all ranks. Small graphs are told to all at the set-up.
  bool needs_whole_graph = false;
  bool waits_inside = false;  // some step is fused: not for calls that do not block
  // But for those that are one fused operation on one node, which the engine begins and asks again.
  bool is_asked_again = false;
  // Goes by the tree of switches. Where none is described all nodes hang on one switch; where one is, but not
  // of this job, it is not legal.
  bool needs_topology = false;
  int max_phases = 0;  // of an alltoall on that tree; 0: no limit
  int max_ranks = 0;   // 0: no limit
  // Reductions: asked for a reproducible one (Problem::is_reproducible), does it join in the order of
  // algorithms/building/order.h? The checker proves it of those that say so, and a test that all others do
  // not.
  bool keeps_one_order = false;
  // Largest message on one rank's side, bytes; 0: no limit. (Block operations: one block; all blocks.)
  std::int64_t max_bytes = 0;
  std::int64_t max_total_bytes = 0;

  bool may_start() const { return !waits_inside || is_asked_again; }
  bool is_limited() const { return max_bytes > 0 || max_total_bytes > 0; }
  bool takes(std::int64_t bytes, int ranks) const {
    return (max_bytes == 0 || bytes <= max_bytes) &&
           (max_total_bytes == 0 || bytes * ranks <= max_total_bytes);
  }
};

// What runs a call: its program's compiled steps, or, where all ranks are on one node, the fused operations
// of shared memory, or agents beside the ranks (agent_descriptors.h).
enum class Engine : std::uint8_t { schedule, fused, agents };

struct Descriptor {
  std::string name;
  Operation operation;
  std::string_view group;  // "flat", "tree", "ring", "exchange", "shared", "topology" ...
  std::string sentence;    // one sentence for people
  std::string source;      // row code and section, "A5, figure 3.1"
  Legality legality;
  std::vector<ParameterSpec> parameters;
  using Build = std::function<schedule::Program(const schedule::Problem&, const Parameters&)>;
  Build build;
  Engine engine = Engine::schedule;
  // Ranks agree on numbers between calls, where nothing may wait inside, by the first legal one in this
  // order; 0: not by this one.
  int place_among_agreements = 0;
  // Is there a two-level algorithm with this one between the nodes' leaders? Not where another one of its
  // kind does there what it would do.
  bool is_for_leaders = true;
  // At no time are two messages under way on one directed link of the tree of switches, and the rounds are as
  // few as they can be then. The checker proves it.
  bool is_free_of_contention = false;
  // Blocks go around a ring, one each round: the ranks in its order. Between nodes one node's blocks may then
  // go on to its ranks while the next ones come (A6, figure 3.11). Empty where they go another way.
  using RingOrder = std::function<std::vector<int>(const patterns::Layout&)>;
  RingOrder ring_order{};
  // Uneven blocks whose lengths not all ranks know: an allgather of one number a rank, among the ranks of
  // each node, that comes first. In gathers and scatters it tells how long each one's block is, in alltoalls
  // how long its longest one. Of neighbours it is so many numbers a rank as the table of blocks says, the
  // lengths of all that it sends and gets. Empty where nobody asks.
  Build build_header{};
  // The same for calls that do not block: it must not wait inside.
  Build build_header_aside{};
  // The same where lengths travel along a tree, before the blocks. It is an allgather of one number a rank in
  // which the root has all numbers from the start. Each rank gets the numbers of the blocks that it deals in.
  Build build_tree_header{};
  // Fused algorithms on uneven blocks: what is done with blocks that fit into `block_lines` cache lines,
  // written as if all were equally long. `build` is for longer ones; short ones count as empty there. Of
  // neighbours, what is done with those that one rank has for another; `ranks`: to so many others, at most.
  Build build_short{};
  std::function<int(int ranks, const Parameters&)> block_lines{};
};

// All algorithms, in the order of operation and name.
const std::vector<Descriptor>& registry();
const Descriptor* find(Operation operation, std::string_view name);
// The allreduces that ranks agree by between calls, the preferred one first.
const std::vector<const Descriptor*>& agreements();
// The standard values of a descriptor, overridden by `chosen` (clamped to the ranges).
Parameters with_standards(const Descriptor& descriptor, const Parameters& chosen = {});
// What else is worth a comparison for blocks of `bytes` than the algorithm with `chosen`. Where blocks up to
// a length go together ("bundle_up_to", "cell") they go the other way; where ranks or nodes may be the points
// ("of_nodes") they are the others.
std::vector<Parameters> other_ways(const Descriptor& descriptor, const Parameters& chosen,
                                   std::int64_t bytes);
// Empty where the algorithm may run on this problem with messages of `bytes`; otherwise why not, as a clause
// ("needs a power of two ranks, there are 6").
std::string why_illegal(const Descriptor& descriptor, const schedule::Problem& problem, std::int64_t bytes,
                        bool has_shared_memory, bool has_single_copy);

// At namespace scope in an algorithm's file: adds descriptors to the registry. Where only one rank is left
// the registry does what is to be done (a copy, or nothing): `build` is asked for two ranks or more.
struct Registration {
  explicit Registration(std::vector<Descriptor> (*make)());
};

// The same for descriptors that are made of others: gets all that do not compose.
struct CompositionRegistration {
  explicit CompositionRegistration(std::vector<Descriptor> (*make)(const std::vector<Descriptor>& simple));
};

}  // namespace unisono::algorithms
