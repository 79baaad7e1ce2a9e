// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/node_search.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/shown.h"

namespace unisono::shm {
namespace {

// Where segments fail for one leader after the other, some rounds are enough: each costs two collectives.
constexpr int max_rounds = 8;

// Zero-filled memory of the segment's first pages is a header in its initial state.
PoolHeader* header_of(const Segment& segment) {
  return reinterpret_cast<PoolHeader*>(segment.address());
}

// The number of this rank among those that have the segment, from 0 on.
std::uint32_t enter(PoolHeader* header, std::size_t rank) {
  const CoreMask mask = own_affinity();
  for (std::size_t i = 0; i < mask.size(); ++i) header->cores[i].fetch_or(mask[i], std::memory_order_relaxed);
  const std::uint32_t before = header->joined.fetch_add(1, std::memory_order_release);
  header->members.enter(before, static_cast<int>(rank));
  return before;
}

}  // namespace

NodeSearch::NodeSearch(host::Host& host, host::Comm comm, const std::vector<Identity>& identities,
                       std::size_t capacity_bytes)
    : host_(host),
      comm_(comm),
      identities_(identities),
      capacity_bytes_(capacity_bytes),
      rank_(static_cast<std::size_t>(host.comm_rank(comm))),
      label_(identities.size(), none) {}

void NodeSearch::run(bool use_memfd) {
  // Containers with PID namespaces of their own but one /dev/shm can share only by name. Everybody else is
  // served better by a memfd, which needs no name and is not bounded by /dev/shm's size.
  if (use_memfd) {
    attempt(SegmentKind::named, file_system_keys(true));
    attempt(SegmentKind::memfd, process_keys());
  }
  attempt(SegmentKind::named, file_system_keys(false));
}

// 0 takes no part.
std::vector<std::uint64_t> NodeSearch::process_keys() const {
  std::vector<std::uint64_t> keys;
  for (const Identity& i : identities_)
    keys.push_back(i.pid_namespace == 0 ? 0 : mixed(i.machine, i.pid_namespace));
  return keys;
}

std::vector<std::uint64_t> NodeSearch::file_system_keys(bool only_across_namespaces) const {
  std::vector<std::uint64_t> keys;
  std::map<std::uint64_t, std::set<std::uint64_t>> namespaces;
  for (const Identity& i : identities_) {
    keys.push_back(i.shm_device == 0 ? 0 : mixed(i.machine, i.shm_device));
    namespaces[keys.back()].insert(i.pid_namespace);
  }
  for (std::uint64_t& key : keys) {
    if (only_across_namespaces && namespaces[key].size() < 2) key = 0;
  }
  return keys;
}

// In each round one rank of every group leads: it makes a segment, and the others try to map it.
void NodeSearch::attempt(SegmentKind kind, const std::vector<std::uint64_t>& keys) {
  cannot_lead_.assign(identities_.size(), false);
  for (int round = 0; round < max_rounds; ++round) {
    const std::vector<int> leaders = choose_leaders(keys);
    if (std::all_of(leaders.begin(), leaders.end(), [](int leader) { return leader == none; })) return;
    const int leader = leaders[rank_];
    const bool is_leader = leader == static_cast<int>(rank_);
    Offer offer;
    if (is_leader) offer = create(kind);
    std::vector<Offer> offers(identities_.size());
    if (host_.allgather_bytes(&offer, sizeof offer, offers.data(), comm_) != host::success) return;
    bool has_joined = is_leader && segment_ != nullptr;
    if (leader != none && !is_leader)
      has_joined = join(kind, leader, offers[static_cast<std::size_t>(leader)]);
    settle(leaders, offers, has_joined);
  }
}

// For each rank the leader of its group, the lowest that may lead; none for ranks that are settled or alone.
std::vector<int> NodeSearch::choose_leaders(const std::vector<std::uint64_t>& keys) const {
  struct Group {
    int members = 0;
    int leader = none;
  };
  std::map<std::uint64_t, Group> groups;
  const auto is_open = [&](std::size_t rank) { return label_[rank] == none && keys[rank] != 0; };
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    if (!is_open(rank)) continue;
    Group& group = groups[keys[rank]];
    ++group.members;
    if (group.leader == none && !cannot_lead_[rank]) group.leader = static_cast<int>(rank);
  }
  std::vector<int> leaders(keys.size(), none);
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    if (is_open(rank) && groups[keys[rank]].members > 1) leaders[rank] = groups[keys[rank]].leader;
  }
  return leaders;
}

NodeSearch::Offer NodeSearch::create(SegmentKind kind) {
  Offer offer;
  const std::uint64_t nonce = identities_[rank_].nonce;
  std::string why;
  segment_ = Segment::create(kind, nonce, capacity_bytes_, sizeof(PoolHeader), &why);
  if (segment_ == nullptr) {
    cut(why, offer.why.size() - 1).copy(offer.why.data(), offer.why.size() - 1);
    return offer;
  }
  entered_as_ = enter(header_of(*segment_), rank_);
  header_of(*segment_)->nonce.store(nonce, std::memory_order_release);
  offer.descriptor = segment_->descriptor();
  return offer;
}

bool NodeSearch::join(SegmentKind kind, int leader, const Offer& offer) {
  const auto& identity = identities_[static_cast<std::size_t>(leader)];
  if (offer.descriptor == none) {
    why_alone_ = "rank " + std::to_string(leader) + ": " + offer.why.data();
    return false;
  }
  std::string why;
  segment_ = kind == SegmentKind::memfd
                 ? Segment::open_memfd(identity.process_id, offer.descriptor, identity.nonce, &why)
                 : Segment::open_named(identity.nonce, &why);
  if (segment_ != nullptr && segment_->capacity_bytes() >= sizeof(PoolHeader) &&
      header_of(*segment_)->nonce.load(std::memory_order_acquire) == identity.nonce) {
    entered_as_ = enter(header_of(*segment_), rank_);
    return true;
  }
  why_alone_ =
      "rank " + std::to_string(leader) + "'s segment: " + (segment_ == nullptr ? why : "it is another one");
  segment_.reset();
  return false;
}

// A node is a leader and whoever has mapped its segment, two ranks at least. The segment itself must have
// numbered them from 0 on, each once, which no other memory than the shared one could do.
void NodeSearch::settle(const std::vector<int>& leaders, const std::vector<Offer>& offers, bool has_joined) {
  const std::uint32_t mine = has_joined ? entered_as_ : not_joined;
  std::vector<std::uint32_t> number(identities_.size());
  const bool is_told = host_.allgather_bytes(&mine, sizeof mine, number.data(), comm_) == host::success;
  std::map<int, std::set<std::uint32_t>> numbers;
  std::map<int, std::size_t> members;
  for (std::size_t rank = 0; rank < number.size(); ++rank) {
    if (!is_told || number[rank] == not_joined) continue;
    numbers[leaders[rank]].insert(number[rank]);
    ++members[leaders[rank]];
  }
  std::erase_if(members, [&](const auto& node) {
    const std::set<std::uint32_t>& of_node = numbers[node.first];
    return of_node.size() != node.second || *of_node.rbegin() + std::size_t{1} != node.second;
  });
  for (std::size_t rank = 0; rank < number.size(); ++rank) {
    const int leader = leaders[rank];
    if (leader == none) continue;
    const bool is_node = members.count(leader) != 0 && members[leader] > 1;
    if (is_node && number[rank] != not_joined) label_[rank] = leader;
    if (!is_node) cannot_lead_[static_cast<std::size_t>(leader)] = true;
  }
  if (has_joined && label_[rank_] == none) {
    if (leaders[rank_] == static_cast<int>(rank_)) {
      why_alone_ = "no other rank could map this one's segment";
    } else {
      why_alone_ = "the segment's ranks did not agree";
    }
    segment_.reset();
  } else if (leaders[rank_] == static_cast<int>(rank_) && segment_ == nullptr) {
    why_alone_ = offers[rank_].why.data();
  }
  if (segment_ != nullptr) segment_->forget_name();
}

std::vector<int> NodeSearch::labels() const {
  std::vector<int> labels = label_;
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    if (labels[rank] == none) labels[rank] = static_cast<int>(rank);
  }
  return labels;
}

}  // namespace unisono::shm
