// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/set_up.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>

#include "base/log.h"
#include "runtime/communicators/call_queue.h"

namespace unisono::runtime {

SetUp::SetUp(const World& world, Progress& progress, Slices& slices, const Quarantine& quarantine)
    : world_(world),
      progress_(progress),
      slices_(slices),
      quarantine_(quarantine),
      identifiers_(Communicator::numbers_within(world.host.largest_tag())) {}

NativeReason SetUp::run(Communicator& c) {
  // There are none, but where calls that do not block have begun a set-up.
  end_aside(c);
  drain(c, progress_);
  const bool is_translated =
      world_.host.translate_ranks(c.handle, world_.comm, &c.rank_in_world) == host::success;
  // Processes of two programs each see the others outside, so all know it alike. Nothing is asked of the
  // others: they may run without Unisono (spawned ones do, where nobody put the shim before them).
  if (is_translated && std::count(c.rank_in_world.begin(), c.rank_in_world.end(), host::no_rank) != 0)
    return NativeReason::outside_world;
  c.checking.interval = static_cast<std::uint64_t>(verify_interval(world_.options.verify));
  if (c.checking.interval != 0 && !quarantine_.agree(world_.host, c)) return NativeReason::set_up_failed;
  const NativeReason reason = agree_on_identifier(c, is_translated);
  if (reason != NativeReason::none) return reason;
  if (c.node.slice == nullptr) make_ready(c);
  return NativeReason::none;
}

NativeReason SetUp::begin(Communicator& c) {
  c.rank_in_world.resize(static_cast<std::size_t>(c.size));
  std::iota(c.rank_in_world.begin(), c.rank_in_world.end(), 0);
  c.checking.interval = static_cast<std::uint64_t>(verify_interval(world_.options.verify));
  const NativeReason reason = take_first_identifier(c);
  if (reason == NativeReason::none) make_ready(c);
  return reason;
}

void SetUp::make_ready(Communicator& c) {
  describe_ground(c);
  c.node.wait = wait_config();
  watch_peers(c);
  slices_.attach(c);
  attach_agents(world_, c);
  make_cache(c);
}

bool SetUp::wants_one_order(const Communicator& c) const {
  switch (world_.host.reproducible_hint(c.handle)) {
    case host::Hint::yes:
      return true;
    case host::Hint::no:
      return false;
    case host::Hint::none:
      break;
  }
  return world_.options.is_reproducible;
}

void SetUp::say_who_decides_order(const Communicator& c, NativeReason reason) const {
  if (reason == NativeReason::none || reason == NativeReason::one_rank || c.rank != 0) return;
  if (!wants_one_order(c)) return;
  log::warning_once("reductions on a communicator are not reproducible, they go to the MPI: " +
                    std::string(describe(reason)));
}

NativeReason SetUp::agree_on_identifier(Communicator& c, bool is_translated, Identifiers::Use use) {
  Identifiers::Turn turn = identifiers_.propose(world_.rank);
  if (world_.host.agree(&turn, 1, host::AgreeOp::max, c.handle) != host::success)
    return NativeReason::set_up_failed;
  identifiers_.enter(turn);
  const NativeReason reason = take_identifier(c, turn, is_translated, use);
  identifiers_.leave(turn);
  return reason;
}

// Where all ranks use GPUs whose memory the host takes as it is, each call of ours would copy it twice. Who
// wants more than speed gets it.
bool SetUp::is_for_host(bool takes_device_memory, bool is_reproducible) const {
  return takes_device_memory && world_.options.algorithm.empty() && world_.options.verify == "off" &&
         !is_reproducible && !serves_all_.load(std::memory_order_relaxed);
}

// All ranks have all numbers, and no other set-up is under way.
NativeReason SetUp::take_first_identifier(Communicator& c) {
  if (is_for_host(world_.takes_device_memory, world_.wants_one_order)) return NativeReason::device_memory;
  const Identifiers::Turn turn = identifiers_.propose(world_.rank);
  identifiers_.enter(turn);
  bool is_held = false;
  c.id = Identifiers::lowest(identifiers_.offer(turn, &is_held).data());
  identifiers_.settle(c.id);
  identifiers_.leave(turn);
  c.has_single_copy = world_.pool->has_single_copy_everywhere() && world_.options.use_single_copy;
  c.is_reproducible = world_.wants_one_order;
  return c.id >= 0 ? NativeReason::none : NativeReason::no_identifier;
}

NativeReason SetUp::take_identifier(Communicator& c, Identifiers::Turn turn, bool is_translated,
                                    Identifiers::Use use) {
  // Word 0: what this rank can do; the rest: its free numbers. While other threads' set-ups come first on
  // some member, that member offers nothing: try again.
  constexpr std::uint64_t can_translate = 1, can_single_copy = 2, has_offered = 4, any_order = 8,
                          takes_device_memory = 16;
  std::uint64_t words[1 + Identifiers::words];
  while (true) {
    bool is_held = false;
    const Identifiers::Set offer = identifiers_.offer(turn, &is_held, use);
    words[0] = (is_translated ? can_translate : 0) | (world_.pool->has_single_copy() ? can_single_copy : 0) |
               (is_held ? has_offered : 0) | (wants_one_order(c) ? 0 : any_order) |
               (world_.host.takes_device_memory() ? takes_device_memory : 0);
    std::copy(offer.begin(), offer.end(), words + 1);
    const int error = world_.host.agree(words, 1 + Identifiers::words, host::AgreeOp::band, c.handle);
    const bool is_usable = error == host::success && (words[0] & can_translate) != 0;
    const bool is_left = is_for_host((words[0] & takes_device_memory) != 0, (words[0] & any_order) == 0);
    const int id = is_usable && !is_left ? Identifiers::lowest(words + 1) : -1;
    if (is_held) identifiers_.settle(id);
    if (!is_usable) return NativeReason::set_up_failed;
    if (is_left) return NativeReason::device_memory;
    if (id >= 0) {
      c.id = id;
      c.has_single_copy = (words[0] & can_single_copy) != 0 && world_.options.use_single_copy;
      // Where one rank wants it all have it: whoever asked relies on it.
      c.is_reproducible = (words[0] & any_order) == 0;
      return NativeReason::none;
    }
    if ((words[0] & has_offered) != 0) return NativeReason::no_identifier;
    std::this_thread::yield();
  }
}

void SetUp::describe_ground(Communicator& c) const {
  std::vector<int> labels;
  std::vector<patterns::DomainLabels> domains;
  for (const patterns::DomainLabels& level : world_.domains)
    domains.push_back({.kind = level.kind, .labels = {}});
  for (int i = 0; i < c.size; ++i) {
    const auto r = static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(i)]);
    labels.push_back(world_.options.use_shared_memory ? world_.node_labels[r] : i);
    for (std::size_t level = 0; level < domains.size(); ++level)
      domains[level].labels.push_back(world_.domains[level].labels[r]);
    c.is_oversubscribed = c.is_oversubscribed || world_.cores[r].is_crowded;
  }
  auto layout = std::make_shared<patterns::Layout>(patterns::Layout::from_labels(labels));
  layout->divide(domains);
  layout->switches = world_.switches;
  for (const auto& ranks : layout->ranks_of) {
    if (world_.switch_of.empty()) break;
    const int in_world = c.rank_in_world[static_cast<std::size_t>(ranks.front())];
    layout->switch_of.push_back(world_.switch_of[static_cast<std::size_t>(in_world)]);
  }
  c.layout = std::move(layout);
}

void SetUp::make_cache(Communicator& c) const {
  c.cache = std::make_unique<schedule::Cache>(static_cast<std::size_t>(world_.options.cache_bytes));
}

void SetUp::release_identifier(const Communicator& c) {
  if (c.id >= 0) identifiers_.release(c.id);
}

bool SetUp::may_wait() const {
  const Options& options = world_.options;
  return options.set_up_after != 0 && !options.is_reproducible && options.verify == "off" &&
         options.algorithm.empty() && world_.agents == nullptr &&
         !serves_all_.load(std::memory_order_relaxed);
}

bool SetUp::spans_nodes(host::Comm handle) const {
  std::vector<int> ranks;
  if (world_.host.is_intercommunicator(handle)) return false;
  if (world_.host.translate_ranks(handle, world_.comm, &ranks) != host::success || ranks.empty())
    return false;
  if (std::ranges::count(ranks, host::no_rank) != 0) return false;
  const auto node_of = [&](int rank) { return world_.node_labels[static_cast<std::size_t>(rank)]; };
  return !world_.options.use_shared_memory ||
         std::ranges::any_of(ranks, [&](int rank) { return node_of(rank) != node_of(ranks.front()); });
}

shm::WaitConfig SetUp::wait_config() const {
  shm::WaitConfig config;
  config.policy = world_.wait_policy();
  config.progress = {[](void* set_up) {
                       static_cast<SetUp*>(set_up)->world_.host.progress();
                       static_cast<SetUp*>(set_up)->progress_.make();
                     },
                     const_cast<SetUp*>(this)};
  return config;
}

void SetUp::watch_peers(Communicator& c) const {
  const shm::Members* members = world_.pool->members();
  if (members == nullptr || !world_.options.use_shared_memory) return;
  const std::vector<int>& labels = world_.pool->node_labels();
  const int own_label = labels[static_cast<std::size_t>(world_.rank)];
  std::vector<int> ranks;
  for (const int rank : c.rank_in_world) {
    if (labels[static_cast<std::size_t>(rank)] == own_label && rank != world_.rank) ranks.push_back(rank);
  }
  c.node.peers = std::make_unique<Peers>(*members, std::move(ranks));
  c.node.wait.peers = c.node.peers->watch();
}

}  // namespace unisono::runtime
