// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/pool.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/pages.h"
#include "shm/pool/allocator.h"
#include "shm/pool/node_search.h"
#include "shm/pool/peer_memory.h"
#include "shm/pool/segment.h"

namespace unisono::shm {
namespace {

// The quotas of the cgroups that the node's ranks live in, together; 0 where any of them has none.
std::uint64_t quota_millicores(const std::vector<Identity>& identities, const std::vector<int>& labels,
                               int label) {
  std::map<std::uint64_t, std::uint32_t> quota_of_group;
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    if (labels[rank] != label) continue;
    if (identities[rank].quota_millicores == 0) return 0;
    quota_of_group[identities[rank].quota_group] = identities[rank].quota_millicores;
  }
  std::uint64_t sum = 0;
  for (const auto& [group, quota] : quota_of_group) sum += quota;
  return sum;
}

}  // namespace

struct Pool::State {
  std::uint64_t nonce = draw_nonce();  // others read it here: the single-copy probe
  std::vector<Identity> identities;
  std::vector<int> labels;
  std::vector<std::string> host_names;
  std::vector<int> process_ids;
  std::unique_ptr<Segment> segment;
  std::optional<Allocator> allocator;
  std::string why_unavailable;
  ReadPermission permission;
  bool has_single_copy = false, has_single_copy_everywhere = false;
  bool is_shared = false;
  std::vector<CoreShare> cores;
  std::vector<PartNumbers> parts;
  std::string why_no_parts;
  std::string limited_by;
  std::uint32_t members = 1;  // ranks that have the segment
  Mutex map_mutex;
  int own_windows UNISONO_GUARDED_BY(map_mutex) = 1;

  PoolHeader* header() const { return reinterpret_cast<PoolHeader*>(segment->address()); }
  int windows_of_all() const;
  void want(int windows);
  int map_wanted();
  int usable_windows(int windows);
  bool has_room(std::size_t bytes, int usable);
  void find_node(host::Host& host, host::Comm comm, const PoolOptions& options);
  void explore_node(host::Host& host, host::Comm comm, const PoolOptions& options);
  PartNumbers own_parts(std::size_t rank, AsksHardware asks);
  NodeCores own_cores(std::size_t rank) const;
  bool can_read_all(std::size_t rank) const;
  CoreMask cores_of_all() const;
};

void Pool::State::find_node(host::Host& host, host::Comm comm, const PoolOptions& options) {
  const auto rank = static_cast<std::size_t>(host.comm_rank(comm));
  const PoolShare share = least_share(identities, rank);
  if (share.bytes < options.capacity_bytes) {
    limited_by =
        std::string(describe(share.limit)) + " leaves it " + std::to_string(share.bytes >> 20) + " MiB";
  }
  const std::size_t capacity_bytes = std::max<std::size_t>(
      std::min<std::uint64_t>(options.capacity_bytes, share.bytes / page_bytes * page_bytes),
      2 * sizeof(PoolHeader));
  NodeSearch search(host, comm, identities, capacity_bytes);
  search.run(options.use_memfd);
  labels = search.labels();
  segment = search.take_segment();
  is_shared = segment != nullptr;
  if (segment == nullptr) {
    // Alone on its node: communicators still get their slices, of one rank.
    if (why_unavailable.empty()) why_unavailable = search.why_alone();
    std::string why;
    segment = Segment::create(SegmentKind::alone, nonce, capacity_bytes, sizeof(PoolHeader), &why);
    if (segment == nullptr) {
      why_unavailable = why;
      return;
    }
  }
  allocator.emplace(&header()->allocator, sizeof(PoolHeader), segment->capacity_bytes());
  members = static_cast<std::uint32_t>(std::count(labels.begin(), labels.end(), labels[rank]));
}

// That this rank's node may use.
CoreMask Pool::State::cores_of_all() const {
  CoreMask mask = own_affinity();
  if (segment != nullptr) {
    for (std::size_t i = 0; i < mask.size(); ++i)
      mask[i] |= header()->cores[i].load(std::memory_order_relaxed);
  }
  return mask;
}

NodeCores Pool::State::own_cores(std::size_t rank) const {
  const CoreMask mask = cores_of_all();
  const std::uint64_t quota = quota_millicores(identities, labels, labels[rank]);
  const auto in_mask = static_cast<std::uint32_t>(std::max(count(mask), 1));
  const auto granted = static_cast<std::uint32_t>(std::min<std::uint64_t>((quota + 999) / 1000, in_mask));
  std::uint64_t set = identities[rank].machine;
  for (const std::uint64_t word : mask) set = mixed(set, word);
  return {.usable = quota == 0 ? in_mask : granted, .in_set = in_mask, .set = set, .group = session_group()};
}

// Does the memory of every rank of this node hold what that rank has said?
bool Pool::State::can_read_all(std::size_t rank) const {
  for (std::size_t peer = 0; peer < labels.size(); ++peer) {
    if (labels[peer] != labels[rank]) continue;
    std::uint64_t seen = 0;
    const Identity& identity = identities[peer];
    const bool is_read = read_process(identity.process_id, identity.probe_address, &seen, sizeof seen);
    if (!is_read || seen != identity.nonce) return false;
  }
  return true;
}

// The node's first rank asks for all. One that may run wherever they all may is in no part of the node.
PartNumbers Pool::State::own_parts(std::size_t rank, AsksHardware asks) {
  constexpr std::chrono::seconds longest{10};
  const CoreMask mask = own_affinity(), all = cores_of_all();
  const bool is_sure = asks == AsksHardware::always;
  const bool may_help =
      asks == AsksHardware::where_it_may_help && members > few_ranks && count(all) > few_cores;
  if (!is_shared || (!is_sure && !may_help)) return in_no_part;
  ToldParts& told = header()->hardware;
  if (labels[rank] == static_cast<int>(rank)) {
    if (is_sure || mask != all) {
      why_no_parts = told.ask();
    } else {
      told.tell_nothing();
    }
  }
  return told.hear(mask, longest);
}

// What ranks find out when they know their nodes. A read that fails on one rank fails for its node.
void Pool::State::explore_node(host::Host& host, host::Comm comm, const PoolOptions& options) {
  struct Found {
    NodeCores cores;
    PartNumbers parts = in_no_part;
    std::uint16_t can_read = 0;
  };
  const auto rank = static_cast<std::size_t>(host.comm_rank(comm));
  const bool can_read = options.use_single_copy && can_read_all(rank);
  const Found own{own_cores(rank), own_parts(rank, options.asks_hardware),
                  static_cast<std::uint16_t>(can_read ? 1 : 0)};
  std::vector<Found> all(labels.size());
  parts.assign(labels.size(), in_no_part);
  if (host.allgather_bytes(&own, sizeof own, all.data(), comm) != host::success) {
    cores = core_shares(std::vector<NodeCores>(labels.size()), labels);
    return;
  }
  std::vector<NodeCores> of_all;
  has_single_copy = has_single_copy_everywhere = true;
  for (std::size_t peer = 0; peer < labels.size(); ++peer) {
    of_all.push_back(all[peer].cores);
    parts[peer] = all[peer].parts;
    if (all[peer].can_read != 0) continue;
    has_single_copy_everywhere = false;
    if (labels[peer] == labels[rank]) has_single_copy = false;
  }
  cores = core_shares(of_all, labels);
}

Pool::Pool() : state_(std::make_unique<State>()) {}
Pool::~Pool() = default;

Identity Pool::own_identity() const {
  return shm::own_identity(&state_->nonce);
}

void Pool::open(host::Host& host, host::Comm comm, std::vector<Identity> of_all, const PoolOptions& options) {
  State& state = *state_;
  // Before the first collective here: who comes out of that may read this process.
  if (options.use_single_copy) state.permission.grant();
  state.identities = std::move(of_all);
  for (const Identity& identity : state.identities) {
    state.host_names.emplace_back(identity.host_name.data());
    state.process_ids.push_back(identity.process_id);
  }
  state.find_node(host, comm, options);
  state.explore_node(host, comm, options);
}

const std::vector<int>& Pool::node_labels() const {
  return state_->labels;
}
const std::vector<std::string>& Pool::host_names() const {
  return state_->host_names;
}
bool Pool::is_available() const {
  return state_->segment != nullptr;
}
const std::string& Pool::limited_by() const {
  return state_->limited_by;
}
const std::string& Pool::why_unavailable() const {
  return state_->why_unavailable;
}
bool Pool::has_single_copy() const {
  return state_->has_single_copy;
}
bool Pool::has_single_copy_everywhere() const {
  return state_->has_single_copy_everywhere;
}
const std::vector<int>& Pool::process_ids() const {
  return state_->process_ids;
}
Members* Pool::members() const {
  return state_->is_shared ? &reinterpret_cast<PoolHeader*>(state_->segment->address())->members : nullptr;
}
Board* Pool::board() const {
  return state_->is_shared ? &state_->header()->board : nullptr;
}
const std::vector<CoreShare>& Pool::cores() const {
  return state_->cores;
}
const std::vector<PartNumbers>& Pool::parts() const {
  return state_->parts;
}
const std::string& Pool::why_no_parts() const {
  return state_->why_no_parts;
}

int Pool::State::windows_of_all() const {
  const int all = segment->windows();
  int count = 1;
  while (count < all && header()->mapped[static_cast<std::size_t>(count)].load() == members) ++count;
  return count;
}

void Pool::State::want(int windows) {
  const auto more = static_cast<std::uint32_t>(std::clamp(windows, 1, segment->windows()) - 1);
  std::uint32_t wanted = header()->wanted_windows.load();
  while (wanted < more && !header()->wanted_windows.compare_exchange_weak(wanted, more)) {
  }
}

// Whoever comes to the pool maps what is wanted; where one cannot, the others do without as well.
int Pool::State::map_wanted() {
  const LockGuard lock(map_mutex);
  const auto wanted = static_cast<int>(header()->wanted_windows.load()) + 1;
  while (own_windows < wanted && segment->map_window(own_windows)) {
    header()->mapped[static_cast<std::size_t>(own_windows)].fetch_add(1);
    ++own_windows;
  }
  return own_windows;
}

int Pool::mapped_windows(int least) {
  if (state_->segment == nullptr) return every_window;
  state_->want(least);
  const int windows = state_->map_wanted();
  return windows == state_->segment->windows() ? every_window : windows;
}

int Pool::State::usable_windows(int windows) {
  const int own = map_wanted();
  return windows == 0 ? windows_of_all() : std::min(windows, own);
}

bool Pool::State::has_room(std::size_t bytes, int usable) {
  for (int number = 0; number < usable; ++number) {
    const Segment::Window window = segment->window(number);
    if (allocator->has_room(bytes, window.begin, window.end)) return true;
  }
  return false;
}

std::int64_t Pool::allocate(std::size_t bytes, int windows) {
  if (!state_->allocator) return -1;
  State& state = *state_;
  const int usable = state.usable_windows(windows);
  std::int64_t offset = -1;
  for (int number = 0; number < usable && offset < 0; ++number) {
    const Segment::Window window = state.segment->window(number);
    offset = state.allocator->reserve(bytes, window.begin, window.end);
  }
  // The next window is mapped before it is needed, where ranks come by.
  const std::size_t mapped_bytes = state.segment->window(usable - 1).end;
  if (offset < 0 || state.allocator->used_bytes() > mapped_bytes / 2) {
    state.want(usable + 1);
    state.map_wanted();
  }
  if (offset >= 0 && !state.segment->back(static_cast<std::size_t>(offset), bytes)) {
    state.allocator->free(offset);
    return -1;
  }
  return offset;
}

bool Pool::has_room(std::size_t bytes, int windows) {
  if (!state_->allocator) return false;
  return state_->has_room(bytes, state_->usable_windows(windows));
}

bool Pool::may_grow() const {
  return state_->allocator.has_value() && state_->windows_of_all() < state_->segment->windows();
}

// Cleared before it is free: whoever gets it next finds zeroes.
void Pool::release(std::int64_t offset) {
  if (!state_->allocator) return;
  const std::size_t bytes = state_->allocator->reserved_bytes(offset);
  if (bytes == 0) return;
  state_->segment->clear(static_cast<std::size_t>(offset), bytes);
  state_->allocator->free(offset);
}

void* Pool::address(std::int64_t offset) const {
  state_->map_wanted();
  return state_->segment->at(static_cast<std::size_t>(offset));
}

}  // namespace unisono::shm
