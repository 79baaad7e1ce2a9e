// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/node_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/shown.h"

namespace unisono::shm {
namespace {

// Where segments fail for one leader after the other, some rounds are enough: each costs two collectives.
constexpr int max_rounds = 8;

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

// Zero-filled memory of the segment's first pages is a header in its initial state.
PoolHeader* header_of(const Segment& segment) {
  return reinterpret_cast<PoolHeader*>(segment.address());
}

void enter(PoolHeader* header, std::size_t rank) {
  const CoreMask mask = own_affinity();
  for (std::size_t i = 0; i < mask.size(); ++i) header->cores[i].fetch_or(mask[i], std::memory_order_relaxed);
  const std::uint32_t before = header->joined.fetch_add(1, std::memory_order_release);
  header->members.enter(before, static_cast<int>(rank));
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b * 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
}

Identity own_identity(const std::uint64_t* nonce) {
  Identity identity;
  gethostname(identity.host_name.data(), identity.host_name.size() - 1);
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  identity.machine = hash(boot_id.empty() ? std::string_view(identity.host_name.data()) : boot_id);
  struct stat status {};
  if (stat("/proc/self/ns/pid", &status) == 0) identity.pid_namespace = status.st_ino;
  if (stat("/dev/shm", &status) == 0) identity.shm_device = mixed(status.st_dev, status.st_ino);
  identity.nonce = *nonce;
  identity.probe_address = reinterpret_cast<std::uintptr_t>(nonce);
  const CpuQuota quota = cpu_quota();
  identity.quota_millicores = quota.millicores;
  identity.quota_group = quota.group;
  identity.process_id = getpid();
  identity.pool_share = pool_share();
  return identity;
}

PoolShare least_share(const std::vector<Identity>& identities, std::size_t rank) {
  PoolShare least;
  for (const Identity& identity : identities) {
    if (identity.machine == identities[rank].machine && identity.pool_share.bytes < least.bytes)
      least = identity.pool_share;
  }
  return least;
}

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
  enter(header_of(*segment_), rank_);
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
    enter(header_of(*segment_), rank_);
    return true;
  }
  why_alone_ =
      "rank " + std::to_string(leader) + "'s segment: " + (segment_ == nullptr ? why : "it is another one");
  segment_.reset();
  return false;
}

// A node is a leader and whoever has mapped its segment, two ranks at least. The segment's own count of them
// must agree, which no other memory than the shared one could show.
void NodeSearch::settle(const std::vector<int>& leaders, const std::vector<Offer>& offers, bool has_joined) {
  const std::uint8_t mine = has_joined ? 1 : 0;
  std::vector<std::uint8_t> joined(identities_.size());
  const bool is_told = host_.allgather_bytes(&mine, sizeof mine, joined.data(), comm_) == host::success;
  std::map<int, std::uint32_t> members;
  for (std::size_t rank = 0; rank < joined.size(); ++rank) {
    if (is_told && joined[rank] != 0) ++members[leaders[rank]];
  }
  std::uint8_t is_agreed = 1;
  if (has_joined) {
    is_agreed =
        header_of(*segment_)->joined.load(std::memory_order_acquire) == members[leaders[rank_]] ? 1 : 0;
  }
  std::vector<std::uint8_t> agreed(identities_.size());
  if (host_.allgather_bytes(&is_agreed, sizeof is_agreed, agreed.data(), comm_) != host::success)
    members.clear();
  for (std::size_t rank = 0; rank < joined.size(); ++rank) {
    if (agreed[rank] == 0) members.erase(leaders[rank]);
  }
  for (std::size_t rank = 0; rank < joined.size(); ++rank) {
    const int leader = leaders[rank];
    if (leader == none) continue;
    const bool is_node = members.count(leader) != 0 && members[leader] > 1;
    if (is_node && joined[rank] != 0) label_[rank] = leader;
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
