// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_graphs.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "patterns/graphs.h"

namespace unisono::proof {
namespace {

using patterns::Neighborhood;
using patterns::no_neighbor;

// Lists of both ends, edge by edge.
class GraphMaker {
 public:
  explicit GraphMaker(int size) : sources_(static_cast<std::size_t>(size)), destinations_(sources_.size()) {}
  void add(int from, int to) {
    destinations_[static_cast<std::size_t>(from)].push_back(to);
    sources_[static_cast<std::size_t>(to)].push_back(from);
  }
  // Each list in another order.
  void shuffle(std::mt19937* random) {
    for (auto* lists : {&sources_, &destinations_}) {
      for (std::vector<int>& list : *lists) {
        for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[(*random)() % i]);
      }
    }
  }
  void add_nobody(int rank, bool is_source) {
    (is_source ? sources_ : destinations_)[static_cast<std::size_t>(rank)].push_back(no_neighbor);
  }
  std::shared_ptr<const Neighborhood> take() const {
    auto graph = std::make_shared<Neighborhood>(static_cast<int>(sources_.size()));
    for (std::size_t rank = 0; rank < sources_.size(); ++rank)
      graph->set(static_cast<int>(rank), patterns::graph_neighbors(sources_[rank], destinations_[rank]));
    return graph;
  }

 private:
  std::vector<std::vector<int>> sources_, destinations_;
};

using Edges = std::function<void(GraphMaker*, int size)>;

NamedGraph named(const std::string& name, int size, const Edges& edges) {
  GraphMaker maker(size);
  edges(&maker, size);
  return {name, maker.take()};
}

NamedGraph parsed(const std::string& text, int size) {
  return {text, std::make_shared<const Neighborhood>(*patterns::parse_graph(text, size))};
}

}  // namespace

std::vector<NamedGraph> named_graphs(int size) {
  std::vector<NamedGraph> graphs;
  const auto add = [&](const std::string& name, const Edges& edges) {
    graphs.push_back(named(name, size, edges));
  };
  add("double edges", [](GraphMaker* maker, int n) {
    for (int rank = 0; rank < n; ++rank) {
      for (const int distance : {1, 2, 1, 0, 1}) maker->add(rank, (rank + distance) % n);
    }
  });
  // Ranks with even numbers, and ranks with odd ones.
  add("two parts", [](GraphMaker* maker, int n) {
    for (int rank = 0; rank < n; ++rank) {
      for (int to = rank % 2; to < n; to += 2) maker->add(rank, to);
    }
  });
  graphs.push_back(parsed("cart:" + std::to_string(size), size));
  graphs.push_back(parsed("cart:" + std::to_string(size) + ",periodic", size));
  add("star out", [](GraphMaker* maker, int n) {
    for (int to = 0; to < n; ++to) maker->add(n / 2, to);
  });
  add("star in", [](GraphMaker* maker, int n) {
    for (int from = 0; from < n; ++from) maker->add(from, n - 1);
  });
  graphs.push_back(parsed("ring", size));
  const std::vector<int> extents = patterns::even_extents(size, 2);
  for (const bool is_periodic : {false, true}) {
    const std::string name = "cart:" + std::to_string(extents[0]) + "x" + std::to_string(extents[1]) +
                             (is_periodic ? ",periodic" : "");
    graphs.push_back(parsed(name, size));
  }
  if (size <= 33) graphs.push_back(parsed("complete", size));
  graphs.push_back(parsed("moore:2,1", size));
  add("itself", [](GraphMaker* maker, int n) {
    for (int rank = 0; rank < n; ++rank) maker->add(rank, rank);
  });
  add("empty", [](GraphMaker*, int) {});
  return graphs;
}

NamedGraph digraph(int size, std::uint32_t number) {
  return named("digraph " + std::to_string(number), size, [=](GraphMaker* maker, int n) {
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        if ((number >> (from * n + to) & 1) != 0) maker->add(from, to);
      }
    }
  });
}

NamedGraph random_multigraph(int size, std::uint32_t seed) {
  return named("multigraph " + std::to_string(seed), size, [=](GraphMaker* maker, int n) {
    std::mt19937 random(seed * 7919 + static_cast<std::uint32_t>(n));
    const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
    const int edges = below(4 * n + 1);
    int from = below(n), to = below(n);
    for (int i = 0; i < edges; ++i) {
      // Some of them once more, or back.
      const int kind = below(8);
      if (kind == 7) std::swap(from, to);
      if (kind < 6) from = below(n), to = below(n);
      maker->add(from, to);
    }
    for (int i = below(3); i > 0; --i) maker->add_nobody(below(n), below(2) == 0);
    maker->shuffle(&random);
  });
}

}  // namespace unisono::proof
