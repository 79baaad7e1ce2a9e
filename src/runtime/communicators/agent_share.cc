// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/agent_share.h"

#include <algorithm>
#include <bit>
#include <set>
#include <thread>

#include "algorithms/catalogue/agent_descriptors.h"
#include "base/log.h"
#include "runtime/communicators/communicator.h"
#include "runtime/world/world.h"

namespace unisono::runtime {
namespace {

using agents::ChannelPlace;
using agents::SegmentHeader;

// Of each node its agent; empty where nodes have none of their own. The same on all ranks.
std::vector<std::int32_t> agents_of_nodes(const World& world, const Communicator& c) {
  std::vector<std::int32_t> of_nodes;
  for (const std::vector<int>& ranks : c.layout->ranks_of) {
    const auto agent_of = [&](int rank) {
      const int in_world = c.rank_in_world[static_cast<std::size_t>(rank)];
      return world.agents->of_rank()[static_cast<std::size_t>(in_world)];
    };
    const int agent = agent_of(ranks.front());
    if (std::ranges::any_of(ranks, [&](int rank) { return agent_of(rank) != agent; })) return {};
    of_nodes.push_back(agent);
  }
  if (std::set<std::int32_t>(of_nodes.begin(), of_nodes.end()).size() != of_nodes.size()) return {};
  return of_nodes;
}

std::uint64_t free_places(const SegmentHeader& header, int channels) {
  std::uint64_t free = 0;
  for (int place = 0; place < channels; ++place) {
    const auto state = header.places[static_cast<std::size_t>(place)].state.load(std::memory_order_acquire);
    if (state == ChannelPlace::State::free) free |= std::uint64_t{1} << place;
  }
  return free;
}

enum class Use : std::uint8_t { started, blocking };

// Blocking calls can do without, so they leave half of the places to the others, and the first ones, for
// which there may be more than messages (carrier_ucc.cc).
int place_for(Use use, std::uint64_t free, int channels) {
  if (free == 0) return -1;
  if (use == Use::started) return std::countr_zero(free);
  return 2 * std::popcount(free) >= channels ? 63 - std::countl_zero(free) : -1;
}

// By built-in rules nobody chooses agents for blocking calls. Checked ones are none of theirs.
bool may_serve_blocking(const World& world, const Communicator& c) {
  const bool is_forced = world.options.algorithm.find(algorithms::agents_name) != std::string::npos;
  const bool may_be_chosen = is_forced || world.have_tables_agents || world.options.learn != "off";
  return c.checking.interval == 0 && may_be_chosen;
}

// A place that is free with all agents, -1: there is none. While one rank of a node looks for a place no
// other one may see the same as free: then it tries again, for some time.
int take_place(const World& world, const Communicator& c, Use use) {
  constexpr int most_tries = 1000;
  SegmentHeader& header = world.agents->segment().header();
  const bool is_first = c.local_rank() == 0;
  for (int tries = 0; tries < most_tries; ++tries) {
    const bool is_held = is_first && header.choosing.exchange(1, std::memory_order_acquire) == 0;
    const std::uint64_t offer = is_held ? free_places(header, world.agents->channels()) : 0;
    std::uint64_t words[2] = {is_first ? offer : ~std::uint64_t{0}, is_held || !is_first ? 1U : 0U};
    const int error = world.host.agree(words, 2, host::AgreeOp::band, c.handle);
    const int place = error == host::success ? place_for(use, words[0], world.agents->channels()) : -1;
    if (is_held) {
      if (place >= 0)
        header.places[static_cast<std::size_t>(place)].state.store(ChannelPlace::State::taken,
                                                                   std::memory_order_release);
      header.choosing.store(0, std::memory_order_release);
    }
    if (place >= 0 || error != host::success || words[1] != 0) return place;
    std::this_thread::yield();
  }
  return -1;
}

std::unique_ptr<AgentShare> share_for(const World& world, const Communicator& c,
                                      const std::vector<std::int32_t>& of_nodes, Use use) {
  const int place = take_place(world, c, use);
  if (place < 0) return nullptr;
  const agents::AgentSegment& segment = world.agents->segment();
  const agents::ChannelShape shape{.nodes = static_cast<std::int32_t>(of_nodes.size()),
                                   .own_node = c.layout->node_of[static_cast<std::size_t>(c.rank)],
                                   .ranks = static_cast<std::int32_t>(c.local_ranks().size())};
  const bool is_first = c.local_rank() == 0;
  const bool is_made = is_first && agents::RankChannel::make(segment, place, shape, of_nodes);
  std::uint64_t is_made_everywhere = is_made || !is_first ? 1 : 0;
  const int error = world.host.agree(&is_made_everywhere, 1, host::AgreeOp::band, c.handle);
  if (error == host::success && is_made_everywhere != 0)
    return std::make_unique<AgentShare>(segment, place, c.local_rank());
  if (is_made) agents::RankChannel::unmake(segment, place);
  return nullptr;
}

}  // namespace

void attach_agents(const World& world, Communicator& c) {
  if (world.agents == nullptr || c.layout->nodes() < 2) return;
  const std::vector<std::int32_t> of_nodes = agents_of_nodes(world, c);
  if (of_nodes.empty()) return;
  c.node.agents = share_for(world, c, of_nodes, Use::started);
  // Each rank that is the first of such a communicator says so once: it need not be the job's first.
  if (c.node.agents == nullptr && c.rank == 0)
    log::warning_once("agents have no room for a communicator; its calls go without them");
  if (c.node.agents != nullptr && may_serve_blocking(world, c))
    c.node.blocking_agents = share_for(world, c, of_nodes, Use::blocking);
}

}  // namespace unisono::runtime
