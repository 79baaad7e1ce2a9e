// SPDX-License-Identifier: BSD-3-Clause
// Phases, rings and tokens on the sources' topologies (S6), on odd shapes, and on random trees.
#include "patterns/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "patterns/phases.h"

namespace unisono::patterns {
namespace {

Layout on_switches(const std::string& nodes, const SwitchTree& switches, const std::vector<int>& switch_of) {
  Layout layout = *Layout::parse(nodes);
  layout.switches = std::make_shared<SwitchTree>(switches);
  layout.switch_of = switch_of;
  return layout;
}

Layout on_tree(const std::string& nodes, const std::string& tree) {
  const Topology topology = *synthetic_topology(tree).topology;
  std::vector<int> switch_of;
  for (const Machine& machine : topology.machines) switch_of.push_back(machine.switch_of);
  return on_switches(nodes, topology.switches, switch_of);
}

Layout random_layout(std::mt19937* random) {
  const auto below = [random](int bound) { return static_cast<int>((*random)() % bound); };
  SwitchTree switches;
  const int count = 1 + below(6);
  for (int i = 0; i < count; ++i) {
    switches.names.push_back(std::to_string(i));
    switches.above.push_back(i == 0 ? -1 : below(i));
  }
  std::string nodes;
  std::vector<int> switch_of;
  for (int node = 0, all = 1 + below(10); node < all; ++node) {
    if (node > 0) nodes += ',';
    nodes += std::to_string(1 + below(4));
    switch_of.push_back(below(count));
  }
  return on_switches(nodes + (below(2) == 0 ? "/cyclic" : ""), switches, switch_of);
}

std::vector<Layout> layouts() {
  std::vector<Layout> all = {*Layout::parse("1"),           *Layout::parse("2"),
                             *Layout::parse("16"),          *Layout::parse("3,5,8"),
                             *Layout::parse("4x4/cyclic"),  on_tree("16x1", "tree:16"),  // (a)
                             on_tree("32x1", "tree:4x8"),                                // (b)
                             on_tree("16x1", "tree:3,5,8"), on_tree("4x2", "tree:1,3"),
                             on_tree("12x1", "tree:2x2x3"), on_tree("8x3/cyclic", "tree:2x2x2"),
                             on_tree("9x1", "tree:8,1")};
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) all.push_back(random_layout(&random));
  return all;
}

// Over which link two of the messages go, or -1.
int contended(const Network& network, const Phase& phase) {
  std::set<int> taken;
  for (const Message& message : phase) {
    for (const int link : network.way(message.from, message.to)) {
      if (!taken.insert(link).second) return link;
    }
  }
  return -1;
}

TEST(Network, KnowsTheWays) {
  const Network network(on_tree("4x1", "tree:2x2"));
  const auto named = [&](int from, int to) {
    std::vector<std::string> names;
    for (const int link : network.way(from, to)) names.push_back(network.name_of_link(link));
    return names;
  };
  EXPECT_EQ(named(0, 1), (std::vector<std::string>{"rank 0 -> node 0", "node 0 -> switch s0",
                                                   "switch s0 -> node 1", "node 1 -> rank 1"}));
  EXPECT_EQ(named(3, 0),
            (std::vector<std::string>{"rank 3 -> node 3", "node 3 -> switch s1", "switch s1 -> switch top",
                                      "switch top -> switch s0", "switch s0 -> node 0", "node 0 -> rank 0"}));
  EXPECT_TRUE(network.way(2, 2).empty());
}

TEST(Network, KnowsTheBusiestLink) {
  EXPECT_EQ(Network(on_tree("16x1", "tree:16")).least_phases(), 15);
  const Network source_b(on_tree("32x1", "tree:4x8"));
  EXPECT_EQ(source_b.least_phases(), 8 * 24);
  EXPECT_EQ(source_b.name_of_link(source_b.busiest_link()), "switch s3 -> switch top");
  EXPECT_EQ(Network(on_tree("16x1", "tree:3,5,8")).least_phases(), 8 * 8);
  EXPECT_EQ(Network(*Layout::parse("4x2")).least_phases(), 2 * 6);
  EXPECT_EQ(Network(*Layout::parse("1")).least_phases(), 0);
  // A description that is not of this job counts as none.
  Layout unusable = on_tree("4x1", "tree:2x2");
  auto switches = std::make_shared<SwitchTree>(*unusable.switches);
  switches->why_unusable = "it is of another machine";
  unusable.switches = switches;
  EXPECT_EQ(Network(unusable).least_phases(), 3);
}

TEST(Phases, SendEverythingOnceWithoutContentionInTheFewestPhases) {
  for (const Layout& layout : layouts()) {
    const Network network(layout);
    const std::vector<Phase> phases = contention_free_phases(network);
    EXPECT_EQ(std::ssize(phases), network.least_phases()) << layout.describe();
    std::set<std::pair<int, int>> sent;
    for (const Phase& phase : phases) {
      EXPECT_EQ(contended(network, phase), -1) << layout.describe();
      for (const Message& message : phase) {
        EXPECT_NE(message.from, message.to);
        EXPECT_TRUE(sent.insert({message.from, message.to}).second) << layout.describe();
      }
    }
    EXPECT_EQ(std::ssize(sent), std::int64_t{1} * layout.size() * (layout.size() - 1)) << layout.describe();
  }
}

TEST(Phases, OfAnExchangeByDistanceContendOnFourSwitches) {
  const Network network(on_tree("32x1", "tree:4x8"));
  Phase phase;
  for (int rank = 0; rank < 32; ++rank) phase.push_back({rank, (rank + 8) % 32});
  EXPECT_NE(contended(network, phase), -1);
}

// Plays the phases with the tokens as knowledge: everybody finishes a phase before the next. A message may
// start when its sender knows that whoever got the last one over each of its links has finished.
bool is_separated(const Network& network, const std::vector<Phase>& phases,
                  const std::vector<Phase>& tokens) {
  const int ranks = network.ranks();
  std::vector<std::vector<int>> finished(ranks, std::vector<int>(ranks, 0));
  std::vector<std::pair<int, Message>> last(network.links(), {-1, {}});
  const auto learn = [&](std::vector<int>* to, const std::vector<int>& from) {
    for (int i = 0; i < ranks; ++i) (*to)[i] = std::max((*to)[i], from[i]);
  };
  for (int phase = 0; phase < std::ssize(phases); ++phase) {
    for (int rank = 0; rank < ranks; ++rank) finished[rank][rank] = phase;
    for (const std::vector<Phase>* told : {&tokens, &phases}) {
      const auto before = finished;
      for (const Message& message : (*told)[phase]) {
        if (told == &phases) {
          for (const int link : network.way(message.from, message.to)) {
            const auto& [when, earlier] = last[link];
            if (when >= 0 && earlier.from != message.from && before[message.from][earlier.to] <= when) {
              return false;
            }
          }
        }
        learn(&finished[message.to], before[message.from]);
      }
    }
    for (const Message& message : phases[phase]) {
      for (const int link : network.way(message.from, message.to)) last[link] = {phase, message};
    }
  }
  return true;
}

TEST(Tokens, SeparateMessagesThatShareALinkAndNoneIsTooMany) {
  for (const Layout& layout : layouts()) {
    if (layout.size() > 16) continue;
    const Network network(layout);
    const std::vector<Phase> phases = contention_free_phases(network);
    std::vector<Phase> tokens = separating_tokens(network, phases);
    ASSERT_EQ(tokens.size(), phases.size());
    EXPECT_TRUE(is_separated(network, phases, tokens)) << layout.describe();
  }
  const Network network(on_tree("6x1", "tree:2x3"));
  const std::vector<Phase> phases = contention_free_phases(network);
  const std::vector<Phase> tokens = separating_tokens(network, phases);
  for (std::size_t phase = 0; phase < tokens.size(); ++phase) {
    for (std::size_t i = 0; i < tokens[phase].size(); ++i) {
      std::vector<Phase> fewer = tokens;
      fewer[phase].erase(fewer[phase].begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(is_separated(network, phases, fewer)) << "phase " << phase << ", token " << i;
    }
  }
}

TEST(RingOrder, TakesEveryLinkOnce) {
  for (const Layout& layout : layouts()) {
    const Network network(layout);
    const std::vector<int> order = network.ring_order();
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int rank = 0; rank < layout.size(); ++rank) ASSERT_EQ(sorted[rank], rank);
    Phase round;
    for (std::size_t i = 0; i < order.size(); ++i) round.push_back({order[i], order[(i + 1) % order.size()]});
    EXPECT_EQ(contended(network, round), -1) << layout.describe();
  }
  EXPECT_EQ(Network(*Layout::parse("2x3/cyclic")).ring_order(), (std::vector<int>{0, 2, 4, 1, 3, 5}));
  const SwitchTree two{.names = {"a", "b", "c"}, .above = {-1, 0, 0}, .why_unusable = {}};
  EXPECT_EQ(Network(on_switches("4x1", two, {1, 2, 1, 2})).ring_order(), (std::vector<int>{0, 2, 1, 3}));
}

}  // namespace
}  // namespace unisono::patterns
