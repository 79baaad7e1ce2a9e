// SPDX-License-Identifier: BSD-3-Clause
// M2, chapter 3, figure 3.4: a list for each cluster of sources. The clusters come from a profile of an
// earlier run, those of receives and of messages apart.
#include "matching/clustering.h"
#include "matching/list_choice.h"
#include "matching/queue_profile.h"

namespace unisono::matching {
namespace {

class ByCluster {
 public:
  explicit ByCluster(Clusters clusters) : clusters_(std::move(clusters)) {}

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) const {
    visit(target(envelope));
  }
  template <class Visit>
  void every(const Envelope&, Visit visit) const {
    for (std::uint32_t cluster = 0; cluster < clusters_.count; ++cluster) visit(cluster);
  }
  std::uint32_t target(const Envelope& envelope) const {
    return clusters_.of_source[static_cast<std::size_t>(envelope.source)];
  }
  std::uint32_t any(const Envelope&) const { return 0; }
  void searched(const Envelope&, std::uint64_t) {}
  template <class List>
  void appended(std::uint32_t, const List&) {}
  std::uint32_t lists() const { return clusters_.count; }
  std::uint32_t any_lists() const { return 1; }
  std::size_t bytes() const { return clusters_.of_source.capacity() * sizeof(std::uint32_t); }

 private:
  Clusters clusters_;
};

template <class Cluster>
std::unique_ptr<Queues> clustered(const Setup& setup, Cluster cluster) {
  const auto router = [&](const ElementCounts& counts) {
    return ByCluster(cluster(elements_of_sources(counts, setup.ranks)));
  };
  return routed_queues(setup, router(setup.profile->posted), router(setup.profile->unexpected));
}

const Registration by_k_means([] {
  return Descriptor{
      .name = "clusters_k_means",
      .source = "M2, section 3.3 and the appendix",
      .sentence = "Sources that were alike in an earlier run share a list, by k-means.",
      .parameters = with_list_parameters({{"k", 2, 256, 16, "clusters"}}),
      .needs_profile = true,
      .make =
          [](const Setup& setup) {
            return clustered(setup, [&](const std::vector<double>& elements) {
              return k_means(elements, static_cast<int>(setup.value("k")));
            });
          },
  };
});

const Registration by_heuristic([] {
  return Descriptor{
      .name = "clusters_heuristic",
      .source = "M2, algorithm 3.1",
      .sentence = "Sources share a list until it had average + SD elements in an earlier run.",
      .parameters = with_list_parameters({}),
      .needs_profile = true,
      .make = [](const Setup& setup) { return clustered(setup, clusters_by_heuristic); },
  };
});

}  // namespace
}  // namespace unisono::matching
