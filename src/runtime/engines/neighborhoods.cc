// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/neighborhoods.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/shared_memory/shared.h"
#include "base/log.h"
#include "runtime/engines/whole_graph.h"
#include "schedule/block_table.h"

namespace unisono::runtime {
namespace {

// A set-up costs two small agreements of all ranks and some microseconds an edge: where ranks have dozens of
// neighbours it has paid after 3 to 10 calls.
constexpr std::uint64_t calls_before_set_up = 8;

patterns::Neighbors neighbors_of(const host::TopologyNeighbors& found) {
  const auto ranks = [](std::vector<int> of) {
    std::ranges::replace(of, host::no_rank, patterns::no_neighbor);
    return of;
  };
  return found.kind == host::TopologyNeighbors::Kind::cartesian
             ? patterns::cartesian_neighbors(ranks(found.sources))
             : patterns::graph_neighbors(ranks(found.sources), ranks(found.destinations));
}

// What a rank tells its node: two counts come before, so all know how many numbers there are.
void append(const std::vector<patterns::Neighbor>& neighbors, std::vector<std::int64_t>* numbers) {
  for (const patterns::Neighbor& neighbor : neighbors) {
    numbers->push_back(static_cast<std::int64_t>(static_cast<std::uint32_t>(neighbor.rank)) << 32 |
                       static_cast<std::uint32_t>(neighbor.edge));
  }
}

std::vector<patterns::Neighbor> taken(const std::int64_t* numbers, std::int64_t count) {
  std::vector<patterns::Neighbor> neighbors;
  for (std::int64_t i = 0; i < count; ++i) {
    neighbors.push_back({static_cast<std::int32_t>(numbers[i] >> 32),
                         static_cast<std::int32_t>(static_cast<std::uint32_t>(numbers[i]))});
  }
  return neighbors;
}

std::vector<std::int64_t> missing(const std::vector<patterns::Neighbor>& neighbors) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < std::ssize(neighbors); ++i) {
    if (neighbors[static_cast<std::size_t>(i)].rank == patterns::no_neighbor) places.push_back(i);
  }
  return places;
}

void find_own(const Communicator& c, const patterns::Neighborhood& known, NeighborhoodState* state) {
  const patterns::Neighbors& own = known.of(c.rank);
  state->ins = static_cast<int>(own.in.size());
  state->outs = static_cast<int>(own.out.size());
  state->missing_ins = missing(own.in);
  state->missing_outs = missing(own.out);
}

}  // namespace

std::uint64_t Neighborhoods::calls_before() const {
  const Options& options = world_.options;
  const bool is_at_once = options.set_up_after == 0 || !options.algorithm.empty() || options.verify != "off";
  return is_at_once ? 0 : calls_before_set_up;
}

bool Neighborhoods::look_at(Communicator& c, const Call& call) const {
  if (c.node.neighborhood == nullptr) c.node.neighborhood = std::make_unique<NeighborhoodState>();
  NeighborhoodState& state = *c.node.neighborhood;
  if (state.reason != NativeReason::few_neighbor_calls) return false;
  if (state.calls++ < calls_before()) return false;
  set_up(c, call);
  return state.reason == NativeReason::none;
}

bool Neighborhoods::is_ready_now(Communicator& c, const Call& call) const {
  if (c.node.neighborhood == nullptr) c.node.neighborhood = std::make_unique<NeighborhoodState>();
  if (c.node.neighborhood->reason == NativeReason::few_neighbor_calls) set_up(c, call);
  return c.node.neighborhood->reason == NativeReason::none;
}

// Of what the call says; 0 where the MPI finds something wrong with it.
std::int64_t Neighborhoods::longest_block(const NeighborhoodState& state, const Call& call) const {
  NeighborBlocks blocks;
  int error = host::success;
  blocks.read(world_.host, call, state, &error);
  return error == host::success ? blocks.longest() : 0;
}

// All ranks say alike what comes of it.
void Neighborhoods::set_up(Communicator& c, const Call& call) const {
  NeighborhoodState& state = *c.node.neighborhood;
  state.reason = NativeReason::set_up_failed;
  auto known = std::make_shared<patterns::Neighborhood>(c.size);
  std::uint64_t sums[2] = {};  // of the checksum, and of edges
  std::array<NeighborhoodState::Room, 2> room;
  const bool is_read = read_node(c, known.get());
  if (is_read) {
    sums[0] = known->checksum(c.rank);
    sums[1] = known->of(c.rank).out.size();
    find_room(c, *known, &room);
  }
  if (world_.host.agree(sums, 2, host::AgreeOp::sum, c.handle) != host::success) return;
  if (is_read) find_own(c, *known, &state);
  // The longest block of all ranks is what is least short of all that there could be.
  const auto bytes = static_cast<std::uint64_t>(is_read ? longest_block(state, call) : 0);
  std::uint64_t words[6] = {is_read ? 1u : 0u, 0, 0, 0, 0, ~bytes};
  for (std::size_t i = 0; i < room.size(); ++i) {
    words[1 + 2 * i] = static_cast<std::uint64_t>(room[i].bundled);
    words[2 + 2 * i] = static_cast<std::uint64_t>(room[i].own);
  }
  if (world_.host.agree(words, 6, host::AgreeOp::min, c.handle) != host::success || words[0] == 0) return;
  if (sums[0] != 0) {
    state.reason = NativeReason::inconsistent_graph;
    if (c.rank == 0)
      log::warning_once("collectives of neighbours on a communicator are left to the MPI: " +
                        std::string(describe(state.reason)));
    return;
  }
  if (is_told_to_all(c, world_.options, sums[1]) && !tell_to_all(c, schedules_, known.get())) return;
  for (std::size_t i = 0; i < room.size(); ++i)
    state.room[i] = {static_cast<std::int64_t>(words[1 + 2 * i]),
                     static_cast<std::int64_t>(words[2 + 2 * i])};
  state.bytes = static_cast<std::int64_t>(~words[5]);
  if (c.layout->nodes() == 1) {
    state.links = patterns::links_of(*known, c.rank);
    if (c.node.slice != nullptr) c.node.slice->set_readers(state.links.readers());
  }
  state.neighbors = std::move(known);
  state.reason = NativeReason::none;
}

// A rank that cannot ask its MPI takes part all the same: the others of its node wait for it.
bool Neighborhoods::read_node(const Communicator& c, patterns::Neighborhood* known) const {
  host::TopologyNeighbors found;
  const bool is_found = world_.host.neighbors(c.handle, &found) == host::success &&
                        found.kind != host::TopologyNeighbors::Kind::none;
  const patterns::Neighbors own = is_found ? neighbors_of(found) : patterns::Neighbors{};
  const std::size_t locals = c.local_ranks().size();
  const std::size_t at = static_cast<std::size_t>(c.local_rank());
  constexpr std::size_t head = 3;
  std::vector<std::int64_t> heads(head * locals, 0);
  heads[head * at] = is_found ? 1 : 0;
  heads[head * at + 1] = std::ssize(own.in);
  heads[head * at + 2] = std::ssize(own.out);
  if (tell_node(c, &heads, head) != host::success) return false;
  std::int64_t most = 0;
  bool are_found = true;
  for (std::size_t local = 0; local < locals; ++local) {
    are_found = are_found && heads[head * local] == 1;
    most = std::max(most, heads[head * local + 1] + heads[head * local + 2]);
  }
  std::vector<std::int64_t> mine;
  append(own.in, &mine);
  append(own.out, &mine);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(most) * locals, 0);
  std::ranges::copy(mine, numbers.begin() + static_cast<std::ptrdiff_t>(at) * most);
  if (most != 0 && tell_node(c, &numbers, most) != host::success) return false;
  for (std::size_t local = 0; local < locals; ++local) {
    const std::int64_t* from = numbers.data() + static_cast<std::int64_t>(local) * most;
    const std::int64_t ins = heads[head * local + 1];
    known->set(c.local_ranks()[local], {taken(from, ins), taken(from + ins, heads[head * local + 2])});
  }
  return are_found;
}

int Neighborhoods::tell_node(const Communicator& c, std::vector<std::int64_t>* numbers,
                             std::int64_t count) const {
  const auto locals = static_cast<int>(c.local_ranks().size());
  if (locals == 1) return host::success;
  const schedule::Problem node{
      .operation = Operation::allgather,
      .size = locals,
      .rank = c.local_rank(),
      .is_in_place = true,
      .layout = std::make_shared<patterns::Layout>(patterns::Layout::one_node(locals)),
      .blocks = {}};
  auto& own = const_cast<Communicator&>(c);
  const schedule::Data data{
      .output = numbers->data(), .elements = count, .element_bytes = sizeof(std::int64_t)};
  if (c.node.slice != nullptr) {
    const auto telling = schedule::compile(node, algorithms::standard_shared_allgather(node, {}));
    return schedules_.execute(own, *telling, data);
  }
  // The pool has had no room for the communicator: in messages.
  const algorithms::Descriptor& in_messages = *algorithms::find(node.operation, "bruck");
  const auto telling = schedule::compile(node, in_messages.build(node, with_standards(in_messages)));
  std::vector<int> in_world;
  for (const int rank : c.local_ranks()) in_world.push_back(c.rank_in_world[static_cast<std::size_t>(rank)]);
  schedule::Ground of_node = schedules_.ground(c);
  of_node.rank_in_comm = in_world.data();
  return own.work.executor.run(*telling, of_node, data);
}

void Neighborhoods::find_room(const Communicator& c, const patterns::Neighborhood& known,
                              std::array<NeighborhoodState::Room, 2>* room) const {
  constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  if (c.node.slice == nullptr) {
    *room = {{{no_limit, no_limit}, {no_limit, no_limit}}};
    return;
  }
  const auto area = static_cast<std::int64_t>(c.node.slice->shape().area_bytes);
  const int node = c.layout->node_of[static_cast<std::size_t>(c.rank)];
  for (const bool has_one_block : {true, false}) {
    const schedule::SlotRoom of_node = schedule::slot_room(known, *c.layout, node, has_one_block, area);
    (*room)[has_one_block ? 0 : 1] = {of_node.bundled, of_node.own};
  }
}

}  // namespace unisono::runtime
