// SPDX-License-Identifier: BSD-3-Clause
// Collectives of neighbours as programs make them: on graphs of all kinds, with blocks of all lengths, over
// nodes of all sizes. MPI's rules say what must come out. The k-th edge from one rank to another is the k-th
// in both lists. On a Cartesian topology what is sent downwards comes from above.
#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "job_cases.h"
#include "program.h"
#include "shm/slice/slice.h"

namespace unisono::runtime::neighbors_test {
namespace {

using host::TopologyNeighbors;

// A graph, as all its ranks describe it, and for each incoming block the edge's other end: which rank, and
// which of the blocks that it sends.
struct Graph {
  struct Origin {
    int rank = -1, block = 0;
  };
  std::vector<TopologyNeighbors> ranks;
  std::vector<std::vector<Origin>> origins;

  explicit Graph(int size) : ranks(static_cast<std::size_t>(size)), origins(static_cast<std::size_t>(size)) {
    for (auto& rank : ranks) rank.kind = TopologyNeighbors::Kind::graph;
  }
  void add_edge(int from, int to) {
    auto& source = ranks[static_cast<std::size_t>(from)];
    auto& destination = ranks[static_cast<std::size_t>(to)];
    origins[static_cast<std::size_t>(to)].push_back({from, static_cast<int>(source.destinations.size())});
    source.destinations.push_back(to);
    destination.sources.push_back(from);
  }
};

Graph random_graph(int size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Graph graph(size);
  const int edges = static_cast<int>(random() % static_cast<unsigned>(size * 4 + 1));
  for (int i = 0; i < edges; ++i)
    graph.add_edge(static_cast<int>(random() % static_cast<unsigned>(size)),
                   static_cast<int>(random() % static_cast<unsigned>(size)));
  return graph;
}

// One dimension, around the circle or with ends.
Graph line(int size, bool is_periodic) {
  Graph graph(size);
  for (int rank = 0; rank < size; ++rank) {
    TopologyNeighbors& own = graph.ranks[static_cast<std::size_t>(rank)];
    own.kind = TopologyNeighbors::Kind::cartesian;
    const int below = is_periodic ? (rank + size - 1) % size : rank == 0 ? host::no_rank : rank - 1;
    const int above = is_periodic ? (rank + 1) % size : rank + 1 == size ? host::no_rank : rank + 1;
    own.sources = own.destinations = {below, above};
    // What comes from below was sent upwards, as the other's second block.
    graph.origins[static_cast<std::size_t>(rank)] = {{below, 1}, {above, 0}};
  }
  return graph;
}

struct Shape {
  int size;
  std::string nodes;
  std::string algorithm;
  bool has_gaps = false;
  bool is_blocking = true;
  bool is_at_bottom = false;  // displacements of alltoallw are addresses, and 0 for the blocks of nobody
};

// A side of an alltoallw whose blocks stand at addresses. The arrays stay as long as this object.
struct AtBottom {
  AtBottom(const std::vector<int>& given_counts, const std::vector<int>& given_places,
           const std::vector<int>& peers, const void* buffer)
      : counts(given_counts.begin(), given_counts.end()) {
    for (std::size_t i = 0; i < peers.size(); ++i)
      places.push_back(peers[i] < 0 ? 0 : reinterpret_cast<std::intptr_t>(buffer) + given_places[i]);
  }
  void set(BlockArguments* side) const {
    side->buffer = nullptr;
    side->counts = counts.data();
    side->displacements = places.data();
    side->are_large = true;
  }
  std::vector<std::int64_t> counts;
  std::vector<std::intptr_t> places;
};

class NeighborsTest : public ProgramTest {
 protected:
  static std::size_t length(Operation operation, int from, int block, std::size_t longest) {
    switch (operation) {
      case Operation::neighbor_allgather:
      case Operation::neighbor_alltoall:
        return longest;
      case Operation::neighbor_allgatherv:
        return static_cast<std::size_t>(from * 3) % (longest + 1);
      default:
        return static_cast<std::size_t>(from * 3 + block * 5) % (longest + 1);
    }
  }

  static bool run_once(Job& job, FakeHost& host, const Shape& shape, const Graph& graph, Operation operation,
                       std::size_t longest, int rank) {
    const auto& own = graph.ranks[static_cast<std::size_t>(rank)];
    const auto& origins = graph.origins[static_cast<std::size_t>(rank)];
    const bool has_one_block = !sends_neighbor_blocks(operation);
    const std::size_t sent = has_one_block ? 1 : own.destinations.size();
    Buffer in(sent * (longest + 1), shape.has_gaps), out(origins.size() * (longest + 1), shape.has_gaps);
    const host::Datatype type = shape.has_gaps ? gapped_ : fake_host::datatype(ElementType::int64);
    std::vector<int> in_counts, in_places, out_counts, out_places;
    const bool is_equal =
        operation == Operation::neighbor_allgather || operation == Operation::neighbor_alltoall;
    const std::size_t stride = is_equal ? longest : longest + 1;
    for (std::size_t b = 0; b < sent; ++b) {
      in_counts.push_back(static_cast<int>(length(operation, rank, static_cast<int>(b), longest)));
      in_places.push_back(static_cast<int>(b * stride));
      for (std::size_t i = 0; i < stride; ++i) in.set(b * stride + i, value(rank, b * 1000 + i));
    }
    // The last blocks come first.
    for (std::size_t b = 0; b < origins.size(); ++b) {
      const auto& [from, block] = origins[b];
      out_counts.push_back(
          from < 0 ? 3 % static_cast<int>(longest + 1)
                   : static_cast<int>(length(operation, from, has_one_block ? 0 : block, longest)));
      out_places.push_back(static_cast<int>((is_equal ? b : origins.size() - 1 - b) * stride));
    }
    for (std::size_t i = 0; i < origins.size() * stride; ++i) out.set(i, {-1, -1});
    Call call{.operation = operation, .comm = host.world()};
    call.send_blocks = {.buffer = in.data(), .count = longest, .type = type};
    call.recv_blocks = {.buffer = out.data(), .count = longest, .type = type};
    if (operation == Operation::neighbor_allgatherv)
      call.send_blocks.count = static_cast<std::size_t>(in_counts[0]);
    if (!is_equal && !has_one_block) {
      call.send_blocks.counts = in_counts.data();
      call.send_blocks.displacements = in_places.data();
    }
    if (!is_equal) {
      call.recv_blocks.counts = out_counts.data();
      call.recv_blocks.displacements = out_places.data();
    }
    std::vector<host::Datatype> types(std::max(sent, origins.size()) + 1, type);
    if (operation == Operation::neighbor_alltoallw) {
      const int bytes = shape.has_gaps ? 16 : 8;
      for (int& place : in_places) place *= bytes;
      for (int& place : out_places) place *= bytes;
      call.send_blocks.types = call.recv_blocks.types = types.data();
    }
    std::optional<AtBottom> in_at_bottom, out_at_bottom;
    if (shape.is_at_bottom && operation == Operation::neighbor_alltoallw) {
      in_at_bottom.emplace(in_counts, in_places, own.destinations, in.data());
      in_at_bottom->set(&call.send_blocks);
      out_at_bottom.emplace(out_counts, out_places, own.sources, out.data());
      out_at_bottom->set(&call.recv_blocks);
    }
    int error = host::success;
    const Outcome outcome =
        shape.is_blocking ? job.collective(call, &error) : start_and_wait(job, call, &error);
    if (outcome != Outcome::done) return false;
    EXPECT_EQ(error, host::success);
    for (std::size_t b = 0; b < origins.size(); ++b) {
      const auto& [from, block] = origins[b];
      const std::size_t at = static_cast<std::size_t>(is_equal ? b : origins.size() - 1 - b) * stride;
      const std::size_t count = from < 0 ? 0 : length(operation, from, has_one_block ? 0 : block, longest);
      for (std::size_t i = 0; i < stride; ++i) {
        const Pair expected =
            i < count ? value(from, static_cast<std::size_t>(has_one_block ? 0 : block) * 1000 + i)
                      : Pair{-1, -1};
        if (out.get(at + i) == expected) continue;
        ADD_FAILURE() << name(operation) << " " << shape.algorithm << " nodes '" << shape.nodes << "' rank "
                      << rank << " block " << b << " of rank " << from << " element " << i << " of " << count
                      << ": " << out.get(at + i).b << " is not " << expected.b;
        return true;
      }
    }
    return true;
  }

  void run(const Shape& shape, const Graph& graph) {
    options_.algorithm = shape.algorithm;
    options_.nodes = shape.nodes;
    FakeWorld world(shape.size);
    gapped_ = world.gapped_int32();
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      host.set_neighbors(host.world(), graph.ranks[static_cast<std::size_t>(rank)]);
      for (const Operation operation : operations) {
        // In lines, in no way, in lines or beyond them, in streams, and again in lines.
        for (const std::size_t longest : {3u, 0u, 7u, 300u, 3u}) {
          if (!shape.is_blocking)
            run_once(job, host, Shape{shape.size, shape.nodes, shape.algorithm}, graph, operation, longest,
                     rank);
          EXPECT_TRUE(run_once(job, host, shape, graph, operation, longest, rank)) << name(operation);
        }
      }
    });
  }

  static constexpr Operation operations[] = {Operation::neighbor_allgather, Operation::neighbor_allgatherv,
                                             Operation::neighbor_alltoall, Operation::neighbor_alltoallv,
                                             Operation::neighbor_alltoallw};
  static inline host::Datatype gapped_{};
};

std::vector<std::string> algorithms_of(const std::string& nodes, int size) {
  std::vector<std::string> all{"all:linear"};
  if (nodes.empty())
    for (const char* lines : {"all:fused", "all:fused(lines=2)"}) all.emplace_back(lines);
  if (nodes != std::to_string(size) + "x1")
    for (const char* limits : {"", "(bundle_up_to=24,share_up_to=32)", "(bundle_up_to=0,share_up_to=0)"})
      all.push_back((nodes.empty() ? "all:shared" : "all:bundles") +
                    std::string(nodes.empty() && *limits != 0
                                    ? (limits[14] == 50 ? "(share_up_to=32)" : "(share_up_to=0)")
                                    : limits));
  return all;
}

TEST_F(NeighborsTest, RandomGraphs) {
  std::uint32_t seed = 1;
  for (const int size : {2, 3, 5, 8}) {
    for (const std::string& nodes : layouts_of(size)) {
      for (const std::string& algorithm : algorithms_of(nodes, size)) {
        run({size, nodes, algorithm, seed % 3 == 0, seed % 2 == 0}, random_graph(size, seed));
        ++seed;
        if (HasFailure()) return;
      }
    }
  }
}

// A pool may have no room for streams. Long blocks are copied by the kernel then, or go as messages.
TEST_F(NeighborsTest, WithoutStreams) {
  std::uint32_t seed = 1;
  for (const bool has_single_copy : {true, false}) {
    options_.use_single_copy = has_single_copy;
    for (const int size : {5, 8}) {
      ASSERT_EQ(shm::SliceShape::stream_bytes_of(size, static_cast<std::size_t>(options_.channel_bytes)), 0u);
      for (const char* algorithm : {"all:fused", "all:fused(lines=2)", "all:fused(lines=64)"}) {
        for (const bool is_blocking : {true, false}) {
          run({size, "", algorithm, seed % 3 == 0, is_blocking}, random_graph(size, seed));
          ++seed;
          if (HasFailure()) return;
        }
        run({size, "", algorithm}, line(size, true));
        run({size, "", algorithm}, line(size, false));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(NeighborsTest, LinesWithEndsAndAround) {
  for (const int size : {2, 3, 6}) {
    for (const bool is_periodic : {false, true}) {
      for (const std::string& nodes : layouts_of(size)) {
        for (const std::string& algorithm : algorithms_of(nodes, size)) {
          run({size, nodes, algorithm}, line(size, is_periodic));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(NeighborsTest, BlocksAtAddresses) {
  for (const bool is_blocking : {true, false}) {
    for (const std::string& nodes : layouts_of(6)) {
      for (const std::string& algorithm : algorithms_of(nodes, 6)) {
        run({6, nodes, algorithm, false, is_blocking, true}, line(6, false));
        run({6, nodes, algorithm, false, is_blocking, true}, random_graph(6, 7));
        if (HasFailure()) return;
      }
    }
  }
}

// The ranks of a node tell each other of their neighbours in messages then.
TEST_F(NeighborsTest, WithoutRoomInThePool) {
  options_.pool_bytes = 1 << 20;
  for (const bool is_blocking : {true, false}) {
    for (const char* nodes : {"", "2x3"}) {
      run({6, nodes, "all:linear", false, is_blocking}, random_graph(6, 3));
      run({6, nodes, "all:linear", false, is_blocking}, line(6, false));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace unisono::runtime::neighbors_test
