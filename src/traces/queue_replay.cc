// SPDX-License-Identifier: BSD-3-Clause
#include "traces/queue_replay.h"

#include <algorithm>
#include <bit>
#include <set>

#include "traces/trace_items.h"

namespace unisono::traces {

using matching::Item;
using matching::Queues;

namespace {

Item make(const QueueEvent& event, Queues* queues) {
  switch (event.what) {
    case What::post:
      return queues->post(event.envelope, item_of(event.item));
    case What::arrive:
      return queues->arrive(event.envelope, item_of(event.item));
    case What::cancel:
      queues->cancel(event.envelope, item_of(event.item));
      return nullptr;
    default:
      return queues->probe(event.envelope);
  }
}

}  // namespace

void meet_contexts(const RankOrder& order, Queues* queues) {
  std::set<std::uint32_t> met;
  const Item item = item_of(0);
  for (const QueueEvent& event : order.events) {
    if (event.what != What::post || !met.insert(event.envelope.context).second) continue;
    // A receive with the wildcards that come anyway: others could make more to look at.
    matching::Envelope receive = event.envelope, message = event.envelope;
    receive.kind = message.kind = {};
    message.source = std::max(message.source, 0);
    message.tag = std::max(message.tag, 0);
    queues->post(receive, item);
    queues->cancel(receive, item);
    queues->arrive(message, item);
    queues->take(receive);
  }
}

void replay(const RankOrder& order, Queues* queues) {
  for (const QueueEvent& event : order.events) make(event, queues);
}

void Histogram::add(std::uint64_t value) {
  ++counts[std::min(static_cast<std::size_t>(std::bit_width(value)), counts.size() - 1)];
  ++searches;
  sum += value;
  most = std::max(most, value);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  searches += other.searches;
  sum += other.sum;
  most = std::max(most, other.most);
}

Depths depths_in(const RankOrder& order, Queues* queues) {
  Depths depths;
  std::vector<int> source_of(order.messages);
  for (const QueueEvent& event : order.events) {
    if (event.what == What::arrive) source_of[event.item] = event.envelope.source;
    const matching::QueueCounters& counters =
        event.what == What::arrive ? queues->posted() : queues->unexpected();
    const std::uint64_t length = counters.depth, before = counters.traversals;
    const Item found = make(event, queues);
    if (event.what == What::cancel) continue;
    const std::uint64_t looked_at = counters.traversals - before;
    QueueDepths& queue = event.what == What::arrive ? depths.posted : depths.unexpected;
    queue.lengths.add(length);
    queue.looked_at.add(looked_at);
    if (event.what == What::arrive) {
      OfPeer& peer = depths.of_peer[event.envelope.source];
      ++peer.messages;
      peer.looked_at += looked_at;
    } else if (found != nullptr) {
      depths.of_peer[source_of[index_of(found)]].looked_at += looked_at;
    } else if (event.envelope.source >= 0) {
      depths.of_peer[event.envelope.source].looked_at += looked_at;
    }
  }
  return depths;
}

LookedByKind looked_by_kind(const RankOrder& order, Queues* queues) {
  LookedByKind result;
  for (const QueueEvent& event : order.events) {
    const std::size_t queue = event.what == What::arrive ? 0 : 1;
    const matching::QueueCounters& counters = queue == 0 ? queues->posted() : queues->unexpected();
    const matching::QueueCounters before = counters;
    make(event, queues);
    Looked& looked = event.envelope.kind.is_collective() ? result.of_collectives : result.of_program;
    looked.searches[queue] += counters.searches - before.searches;
    looked.traversals[queue] += counters.traversals - before.traversals;
  }
  return result;
}

matching::Profile profile_of(const RankOrder& order, int ranks) {
  matching::Profile profile{.ranks = ranks};
  const auto queues = matching::make_queues(*matching::find("own"), {.ranks = ranks});
  for (const QueueEvent& event : order.events) {
    if (make(event, queues.get()) != nullptr) continue;
    if (event.envelope.source < 0) continue;
    const std::pair place(event.envelope.context, event.envelope.source);
    if (event.what == What::post) ++profile.posted[place];
    if (event.what == What::arrive) ++profile.unexpected[place];
  }
  return profile;
}

std::unique_ptr<Queues> queues_for(const matching::Descriptor& descriptor, int ranks,
                                   const matching::Profile& profile) {
  return matching::make_queues(descriptor, {.ranks = ranks, .profile = &profile});
}

}  // namespace unisono::traces
