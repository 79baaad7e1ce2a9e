// SPDX-License-Identifier: BSD-3-Clause
// Two-level alltoall: leaders collect what their nodes have for each other node, exchange it, and hand it
// out. Between two nodes that is one message instead of one for each pair of ranks.
#include <algorithm>
#include <utility>

#include "algorithms/shared_memory/shared.h"
#include "algorithms/two_levels/two_level.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Stage;
using schedule::Writer;

namespace {

// `count` blocks from one seat to another.
void move(Writer& writer, const Seat& to, std::int64_t into, const Seat& source, std::int64_t from,
          std::int64_t count) {
  writer.copy(blocks(to.place, to.units + into, to.units + into + count),
              blocks(source.place, source.units + from, source.units + from + count));
}

// What the local ranks have given stands by local rank; what leaves, by node, then by local rank.
void sort_by_node(const Levels& levels, const Seat& given, const Seat& leaving, Writer& writer) {
  const std::int64_t locals = levels.node().size;
  for (int local = 0; local < locals; ++local) {
    for (int node = 0; node < levels.leaders().size; ++node) {
      const std::int64_t first = levels.leaders().blocks.first(node);
      const std::int64_t count = levels.leaders().blocks.last(node) - first;
      move(writer, leaving, locals * first + local * count, given, local * levels.size() + first, count);
    }
  }
}

// What has arrived stands by sending rank, then by local rank; what is handed out the other way round.
void sort_by_local_rank(const Levels& levels, const Seat& arrived, const Seat& sorted, Writer& writer) {
  const std::int64_t locals = levels.node().size;
  for (int local = 0; local < locals; ++local) {
    for (int rank = 0; rank < levels.size(); ++rank) {
      move(writer, sorted, static_cast<std::int64_t>(local) * levels.size() + rank, arrived,
           rank * locals + local, 1);
    }
  }
}

using Sort = void (*)(const Levels&, const Seat& from, const Seat& into, Writer&);
Stage sorting(const Levels& levels, Sort sort, const Seat& from, const Seat& into) {
  return local_stage([=](Writer& writer) {
    if (levels.is_leader()) sort(levels, from, into, writer);
  });
}

// The messages between leaders are not cut: the longest one differs from node to node.
void alltoall(Composition* to, const Levels& levels, const Descriptor& inter, const Parameters& parameters) {
  const std::int64_t ranks = levels.size();
  const std::int64_t locals = levels.node().size;
  const auto area = [&] {
    return Seat{Place::scratch, to->reserve(levels.is_leader() ? locals * ranks : 0)};
  };
  const Seat unsorted = area();
  const Seat leaving = area();
  const Seat arrived = area();
  levels.add_node(to, Operation::gather, shared_gather, parameters, {.output = unsorted, .scale = ranks});
  to->add(sorting(levels, sort_by_node, unsorted, leaving));
  levels.add_leaders(to, inter, parameters, {.input = leaving, .output = arrived, .scale = locals});
  to->add(sorting(levels, sort_by_local_rank, arrived, leaving));
  levels.add_node(to, Operation::scatter, shared_scatter, parameters, {.input = leaving, .scale = ranks});
}

std::vector<Descriptor> compose(const std::vector<Descriptor>& simple) {
  std::vector<Descriptor> all;
  for (const Descriptor& inter : simple) {
    if (inter.operation != Operation::alltoall || !is_for_leaders(inter)) continue;
    Descriptor descriptor = two_level(inter, alltoall);
    descriptor.legality.needs_consecutive = true;
    std::erase_if(descriptor.parameters,
                  [](const ParameterSpec& spec) { return spec.name == "segment" || spec.name == "window"; });
    all.push_back(std::move(descriptor));
  }
  return all;
}

const CompositionRegistration registration(compose);

}  // namespace
}  // namespace unisono::algorithms
