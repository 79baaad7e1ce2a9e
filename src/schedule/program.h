// SPDX-License-Identifier: BSD-3-Clause
// What an algorithm writes: references, steps, stages, programs. docs/inside/engines.md, "Programs",
// explains each idea.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"
#include "patterns/domain_tree.h"
#include "patterns/layout.h"
#include "patterns/neighborhood.h"

namespace unisono::schedule {

struct BlockTable;  // schedule/block_table.h

// Which blocks belong to which rank in a block operation. Empty: rank i owns block i. A two-level composition
// runs an algorithm among leaders, whose blocks are runs of uneven length: rank i then owns [starts[i],
// starts[i+1]).
struct Blocks {
  std::shared_ptr<const std::vector<std::int64_t>> starts;
  std::int64_t first(int rank) const { return starts ? (*starts)[rank] : rank; }
  std::int64_t last(int rank) const { return starts ? (*starts)[rank + 1] : rank + 1; }
};

// What one rank is asked to do. Everything but `rank`, `is_in_place` and `neighborhood` is the same on all
// ranks.
struct Problem {
  Operation operation = Operation::barrier;
  int size = 1;
  int rank = 0;
  int root = 0;                  // rooted operations; 0 otherwise
  bool is_commutative = true;    // reductions: may the operator's operands be exchanged?
  bool is_in_place = false;      // this rank gave MPI_IN_PLACE
  bool is_reproducible = false;  // reductions: joined in the one order of algorithms/building/order.h;
                                 // then `is_commutative` does not hold
  std::shared_ptr<const patterns::Layout> layout;  // of `size` ranks; never null
  Blocks blocks;
  // Operations of neighbours: at least the neighbours of all ranks of this rank's node. Null elsewhere.
  std::shared_ptr<const patterns::Neighborhood> neighborhood = nullptr;
};

enum class Place : std::uint8_t { input, output, scratch, shared, remote_input, remote_output };

// A count-free range of elements: where the unit has N elements, [floor(first*N/parts), floor(last*N/parts))
// of `place`. It is cut into the stage's pieces. Of each piece the part [sub_first, sub_last) of sub_parts is
// meant.
// - shared: the range only gives the length. The bytes lie in the slot of the current piece, in lane `lane`,
//   at the sub-range's offset within the piece. `owner` is the local rank whose area it is (mode own), or 0
//   (mode common).
// - remote_*: the same elements in local rank `owner`'s buffer, read through single copy after that rank's
//   `expose`.
//
// A message whose range holds no element in a call is not sent at all. A message that is to be sent whatever
// the count (a token) names an empty range (first == last). In a barrier every message is a token.
//
// Where blocks differ in length (has_uneven_blocks) every block keeps its number on all places. What a rank
// owns alone is block `rank` there too. What it gets of an alltoall are the blocks from `size` on, behind
// those that it sends. Scratch space holds one vector of all blocks behind the other. In operations of
// neighbours the program's table says what its numbers stand for. There, blocks of one slot stand side by
// side behind block `lane_first`.
struct Ref {
  Place place = Place::output;
  std::int64_t first = 0;
  std::int64_t last = 1;
  std::int32_t parts = 1;
  std::int32_t sub_first = 0;
  std::int32_t sub_last = 1;
  std::int32_t sub_parts = 1;
  std::int32_t owner = 0;
  std::int32_t lane = 0;
  std::int64_t lane_first = -1;  // -1: the reference begins where the lane does

  bool operator==(const Ref&) const = default;

  // The same elements elsewhere, or a part of every piece.
  Ref in(Place other) const {
    Ref r = *this;
    r.place = other;
    return r;
  }
  Ref in_slot_of(int local_owner, int in_lane = 0) const {
    Ref r = in(Place::shared);
    r.owner = local_owner;
    r.lane = in_lane;
    return r;
  }
  Ref sub(int index, int count) const {
    Ref r = *this;
    r.sub_first = index;
    r.sub_last = index + 1;
    r.sub_parts = count;
    return r;
  }
  // Moved by whole units (a second, third ... vector, or block) behind the first.
  Ref shifted(std::int64_t units) const {
    Ref r = *this;
    r.first += units * parts;
    r.last += units * parts;
    return r;
  }
};

// The whole vector; part i of p (or the run [i, j) of p); block i (or the run [i, j)).
inline Ref whole(Place place) {
  return {.place = place};
}
inline Ref part(Place place, std::int64_t i, int p) {
  return {.place = place, .first = i, .last = i + 1, .parts = p};
}
inline Ref parts(Place place, std::int64_t i, std::int64_t j, int p) {
  return {.place = place, .first = i, .last = j, .parts = p};
}
inline Ref block(Place place, std::int64_t i) {
  return {.place = place, .first = i, .last = i + 1};
}
inline Ref blocks(Place place, std::int64_t i, std::int64_t j) {
  return {.place = place, .first = i, .last = j};
}
// What a message that carries nothing names: it is sent whatever the count.
inline Ref token(Place place = Place::output) {
  return {.place = place, .last = 0};
}

enum class StepKind : std::uint8_t {
  send,         // left -> peer (a rank of the communicator)
  recv,         // peer -> into
  copy,         // left -> into; put (A1) where into is shared, get (A1) where left is shared or remote
  reduce,       // into = left op right; into may be left or right, or apart from both
  signal,       // own flag = base + piece*ticks + tick
  await,        // until local rank peer's flag >= base + piece*ticks + tick
  await_all,    // the same for all local ranks
  await_space,  // until the piece's slot may be overwritten
  expose,  // publishes the addresses of this rank's buffers to the node (before a signal; after await_space)
  // From here on: fused (is_fused).
  node_barrier,    // fused, all local ranks
  node_bcast,      // fused: local rank peer's `into` -> every local rank's `into`
  node_reduce,     // fused: into at local rank peer = left of local rank 0 op 1 op 2 ...
  node_allreduce,  // fused: into everywhere = left of local rank 0 op 1 op 2 ...
  node_scan,       // fused: into at local rank l = left of local rank 0 op 1 ... op l
  node_exscan,     // fused: the same up to l-1; local rank 0 gets nothing
  // In these `into` or `left`, or both, is a run of equal blocks, one for each local rank.
  node_allgather,       // fused: left of local rank l -> block l of everybody's `into`
  node_gather,          // fused: left of local rank l -> block l of `into` at local rank peer
  node_scatter,         // fused: block l of `left` at local rank peer -> `into` of local rank l
  node_alltoall,        // fused: block k of `left` of local rank l -> block l of `into` of local rank k
  node_reduce_scatter,  // fused: into at local rank l = block l of `left` of local rank 0 op 1 op 2 ...
};

constexpr bool is_fused(StepKind kind) {
  return kind >= StepKind::node_barrier;
}
// Those that deal in the flags of a channel alone.
constexpr bool is_flag_step(StepKind kind) {
  return kind == StepKind::signal || kind == StepKind::await || kind == StepKind::await_all ||
         kind == StepKind::await_space || kind == StepKind::expose;
}
constexpr bool is_message(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::recv;
}
// Fused steps whose data comes from local rank `peer` alone, or goes to it alone.
constexpr bool has_one_source(StepKind kind) {
  return kind == StepKind::node_bcast || kind == StepKind::node_scatter;
}
constexpr bool has_one_sink(StepKind kind) {
  return kind == StepKind::node_reduce || kind == StepKind::node_gather;
}

// Does a fused step bring local rank `to` what local rank `from` has written? It waits for those alone. Not
// of steps along trees.
constexpr bool is_heard(StepKind kind, std::int32_t peer, int from, int to) {
  if (has_one_source(kind)) return from == peer;
  if (has_one_sink(kind)) return to == peer;
  if (kind == StepKind::node_scan || kind == StepKind::node_exscan) return from <= to;
  return true;
}
// Fused steps that join what they bring.
constexpr bool is_fused_reduction(StepKind kind) {
  return kind == StepKind::node_reduce || kind == StepKind::node_allreduce || kind == StepKind::node_scan ||
         kind == StepKind::node_exscan || kind == StepKind::node_reduce_scatter;
}
// Fused steps to which a rank brings a block for each local rank.
constexpr bool has_block_for_each(StepKind kind) {
  return kind == StepKind::node_scatter || kind == StepKind::node_alltoall ||
         kind == StepKind::node_reduce_scatter;
}

using Tree = std::shared_ptr<const patterns::DomainTree>;
inline bool is_one_tree(const Tree& a, const Tree& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

struct Step {
  StepKind kind = StepKind::copy;
  std::int32_t peer = -1;
  std::int32_t tick = 0;
  Ref into{};
  Ref left{};
  Ref right{};
  // Fused barriers, broadcasts, reductions and allreductions: the tree of the node's ranks that they go
  // along, the same on all of them. Null: each rank reads what it needs of those who wrote it.
  Tree along = nullptr;
};

// Ticks of a barrier along a tree: all that it does, that the root hears from all, that all hear from it.
inline constexpr std::int32_t both_halves = 0, upper_half = 1, lower_half = 2;

// Does what ranks have go up the tree? Does something come down it?
constexpr bool goes_up(StepKind kind, std::int32_t tick) {
  return kind == StepKind::node_barrier ? tick != lower_half : !has_one_source(kind);
}
constexpr bool goes_down(StepKind kind, std::int32_t tick) {
  return kind == StepKind::node_barrier ? tick != upper_half : !has_one_sink(kind);
}

// The same of any step. What a rank gets along a tree has been through others, for whom it waits too.
inline bool is_heard(const Step& step, int from, int to) {
  if (step.along == nullptr) return is_heard(step.kind, step.peer, from, to);
  const bool is_up = goes_up(step.kind, step.tick), is_down = goes_down(step.kind, step.tick);
  return (is_up && is_down) || (is_up ? step.along->is_below(from, to) : step.along->is_below(to, from));
}

// Takes the steps of one round, in program order.
class Writer {
 public:
  explicit Writer(std::vector<Step>* steps) : steps_(steps) {}

  void send(const Ref& what, int to) { add({.kind = StepKind::send, .peer = to, .left = what}); }
  void recv(const Ref& into, int from) { add({.kind = StepKind::recv, .peer = from, .into = into}); }
  void copy(const Ref& into, const Ref& from) { add({.kind = StepKind::copy, .into = into, .left = from}); }
  void reduce(const Ref& into, const Ref& left, const Ref& right) {
    add({.kind = StepKind::reduce, .into = into, .left = left, .right = right});
  }
  void signal(int tick) { add({.kind = StepKind::signal, .tick = tick}); }
  void await(int local_rank, int tick) { add({.kind = StepKind::await, .peer = local_rank, .tick = tick}); }
  void await_all(int tick) { add({.kind = StepKind::await_all, .tick = tick}); }
  void await_space() { add({.kind = StepKind::await_space}); }
  void expose() { add({.kind = StepKind::expose}); }
  // `half` of a barrier along a tree alone (both_halves ...).
  void node_barrier(const Tree& along = nullptr, std::int32_t half = both_halves) {
    add({.kind = StepKind::node_barrier, .tick = along == nullptr ? both_halves : half, .along = along});
  }
  void node_bcast(const Ref& data, int local_root, const Tree& along = nullptr) {
    add({.kind = StepKind::node_bcast, .peer = local_root, .into = data, .left = data, .along = along});
  }
  void node_reduce(const Ref& into, const Ref& from, int local_root, const Tree& along = nullptr) {
    add({.kind = StepKind::node_reduce, .peer = local_root, .into = into, .left = from, .along = along});
  }
  void node_allreduce(const Ref& into, const Ref& from, const Tree& along = nullptr) {
    add({.kind = StepKind::node_allreduce, .into = into, .left = from, .along = along});
  }
  void node_scan(const Ref& into, const Ref& from) {
    add({.kind = StepKind::node_scan, .into = into, .left = from});
  }
  void node_exscan(const Ref& into, const Ref& from) {
    add({.kind = StepKind::node_exscan, .into = into, .left = from});
  }
  void node_reduce_scatter(const Ref& into, const Ref& from) {
    add({.kind = StepKind::node_reduce_scatter, .into = into, .left = from});
  }
  void node_allgather(const Ref& into, const Ref& from) {
    add({.kind = StepKind::node_allgather, .into = into, .left = from});
  }
  void node_gather(const Ref& into, const Ref& from, int local_root) {
    add({.kind = StepKind::node_gather, .peer = local_root, .into = into, .left = from});
  }
  void node_scatter(const Ref& into, const Ref& from, int local_root) {
    add({.kind = StepKind::node_scatter, .peer = local_root, .into = into, .left = from});
  }
  void node_alltoall(const Ref& into, const Ref& from) {
    add({.kind = StepKind::node_alltoall, .into = into, .left = from});
  }
  void add(const Step& step) { steps_->push_back(step); }

 private:
  std::vector<Step>* steps_;
};

enum class SharedMode : std::uint8_t { none, own, common };

// A run of rounds that is cut into pieces in one way. All members but `rounds` and `write` are the same on
// all ranks of the stage (node stages: of the node).
struct Stage {
  int rounds = 0;
  std::function<void(int round, Writer& writer)>
      write;  // pure: may be asked for any round, any number of times

  // The longest reference of the stage, `extent` of `extent_parts` units: how many pieces a segment size
  // makes.
  std::int64_t extent = 1;
  std::int32_t extent_parts = 1;
  std::int64_t segment_bytes = 0;  // 0: one piece (unless a slot is smaller)
  int window = 2;                  // pieces of one step that may be under way at a time
  int rounds_under_way = 0;        // rounds whose messages may be under way at a time; 0: all
  int sends_under_way = 0;         // sends that may be under way at a time, piece by piece; 0: all
  bool is_blocking = false;        // one message after the other, as with blocking calls, those of a round
                                   // piece by piece; not together with node steps
  bool begins_apart = false;       // nothing of it runs before all that is written before it is done

  // Channel use (docs/inside/memory.md, "Channels: pieces"); mode none: the stage has no
  // channel.
  SharedMode shared = SharedMode::none;
  int ticks = 0;
  int buffers = 2;  // slots
  int lanes = 1;    // equal parts of a slot
  // Its pieces follow, on the same channel, those of the last stage before it that has a channel. It equals
  // that stage in all of the above. Its node steps come after that one's.
  bool continues_channel = false;
};

struct Program {
  std::vector<Stage> stages;
  std::int64_t scratch = 0;  // extent of scratch, `scratch` of `scratch_parts` units
  std::int32_t scratch_parts = 1;
  std::shared_ptr<const BlockTable> blocks;  // operations of neighbours; null elsewhere
  // Of neighbours: where no block of the node is longer than both limits of its table, so many stages do all
  // there is to do, and others are left out. The node's ranks alone need to say so alike: for a long block
  // both ends of its edge are on nodes where there is one.
  int stages_of_short = -1;  // -1: all
};

}  // namespace unisono::schedule
