// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/agents_here.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/agent_places.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "runtime/world/world.h"

namespace unisono::runtime {
namespace {

// What each rank tells all others.
struct Found {
  std::int32_t agent = -1;  // none
  std::int32_t agents = 0, channels = 0;
  std::array<char, 160> why{};  // there is none, or it does not go by what was asked for
};

// Agents of pretended nodes have places in turn, as these nodes have on their machine.
int place_of(const World& world) {
  const auto own = static_cast<std::size_t>(world.rank);
  const std::vector<int>& machines = world.pool->node_labels();
  std::set<int> nodes_before;
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    if (world.node_labels[rank] == world.node_labels[own]) break;
    if (machines[rank] == machines[own]) nodes_before.insert(world.node_labels[rank]);
  }
  return static_cast<int>(nodes_before.size());
}

// One that has found no agent, and knows why where one does. Null: all have found theirs.
const Found* first_without(const std::vector<Found>& of_all) {
  const Found* found = nullptr;
  for (const Found& one : of_all) {
    if (one.agent >= 0) continue;
    if (one.why[0] != 0) return &one;
    if (found == nullptr) found = &one;
  }
  return found;
}

// Option agents_on may name hosts.
bool has_host(const std::vector<std::string>& hosts, std::string_view host) {
  return std::ranges::any_of(hosts, [host](const std::string& one) { return is_same_host(one, host); });
}

std::vector<std::string> hosts_asked_for(const World& world) {
  return agent_places(world.options.agents_on).value_or(AgentPlaces{}).hosts;
}

// Rank `number` has found no agent.
std::string why_without(const World& world, const Found& found, std::size_t number) {
  const std::string& host = world.pool->host_names()[number];
  const std::vector<std::string> asked = hosts_asked_for(world);
  const bool is_left_out = !asked.empty() && !has_host(asked, host);
  return std::string(found.why.data()) + " (rank " + std::to_string(number) + " on " + host +
         (is_left_out ? ", which option agents_on does not name)" : ")");
}

// Where `unisono run` knows that no agent is started nobody waits for one.
bool is_left_out(const World& world) {
  const std::string all = Environment::of_process().find(agents_left_out_variable).value_or("");
  const std::string& own = world.pool->host_names()[static_cast<std::size_t>(world.rank)];
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    if (is_same_host(std::string_view(all).substr(begin, end - begin), own)) return true;
    begin = end + 1;
  }
  return false;
}

// Agents on hosts that are not the job's serve nobody, and do no harm. Pretended nodes have some to spare.
void warn_of_idle_hosts(const World& world, const std::vector<Found>& of_all) {
  const std::vector<std::string> asked = hosts_asked_for(world);
  std::set<std::int32_t> used;
  for (const Found& found : of_all) used.insert(found.agent);
  if (asked.empty() || !world.options.nodes.empty() || std::cmp_equal(used.size(), of_all[0].agents)) return;
  std::string idle;
  for (const std::string& host : asked) {
    if (!has_host(world.pool->host_names(), host)) idle += (idle.empty() ? "" : ", ") + host;
  }
  world.notices().warn(
      "option agents_on names hosts where the job has no ranks, so agents there have no work" +
      (idle.empty() ? "" : ": " + idle));
}

}  // namespace

std::unique_ptr<AgentsHere> AgentsHere::find(const World& world) {
  const std::string& job = world.options.agents_job;
  const bool are_threads = world.options.agents == "thread";
  if (job.empty() || world.options.agents == "0") return nullptr;
  if (are_threads && world.layout().nodes() < 2) return nullptr;
  std::string why;
  const int place = place_of(world);
  const auto longest_s = static_cast<double>(world.options.agents_deadline);
  std::unique_ptr<AgentThread> thread;
  bool is_tried = !are_threads || AgentThread::start(world, place, &thread, &why);
  if (!are_threads && is_left_out(world)) {
    is_tried = false;
    why = "no agent was started on this host";
  }
  auto connection = is_tried ? agents::Connection::open(job, place, longest_s, &why) : nullptr;
  Found own;
  if (connection != nullptr) {
    const agents::AgentIdentity& agent = connection->segment().header().agent;
    own = {.agent = agent.rank, .agents = agent.agents, .channels = agent.channels};
    why = connection->segment().header().why_not_carrier;
  }
  why.copy(own.why.data(), own.why.size() - 1);
  std::vector<Found> of_all(static_cast<std::size_t>(world.size));
  if (world.host.allgather_bytes(&own, sizeof own, of_all.data(), world.comm) != host::success)
    return nullptr;
  if (const Found* without = first_without(of_all)) {
    const auto number = static_cast<std::size_t>(without - of_all.data());
    world.notices().warn("the job runs without agents: " + why_without(world, *without, number));
    if (thread != nullptr) thread->tell_to_end();
    return nullptr;
  }
  warn_of_idle_hosts(world, of_all);
  // The report says so of each kind. Threads are not even started, but who has a second job wants to hear it.
  if (!are_threads && world.layout().nodes() < 2 && world.notices().is_speaker())
    log::warning("the job's agents have no work, as all of its ranks are on one node");
  std::vector<int> of_rank;
  std::string why_not_carrier;
  for (const Found& found : of_all) {
    of_rank.push_back(found.agent);
    if (why_not_carrier.empty()) why_not_carrier = found.why.data();
  }
  const int channels = std::ranges::min(of_all, {}, &Found::channels).channels;
  std::unique_ptr<AgentsHere> here(
      new AgentsHere(std::move(thread), std::move(connection), std::move(of_rank), channels, longest_s));
  const std::string& asked = world.options.agents_carrier;
  if (here->carrier() != asked) {
    if (why_not_carrier.empty()) why_not_carrier = "the agents were told otherwise";
    world.notices().warn("agents go by " + here->carrier() + " between nodes, not by " + asked + ": " +
                         why_not_carrier);
    here->why_not_carrier_ = std::move(why_not_carrier);
  }
  return here;
}

void AgentsHere::hand_over_to(Progress* progress) const {
  if (thread_ == nullptr) return;
  thread_->hand_over(&segment().header().bell);
  progress->join(*thread_);
  progress->add(false);
}

bool AgentsHere::are_lost_by_now() const {
  constexpr std::uint64_t interval_ns = 50'000'000;
  const std::uint64_t now = now_ns();
  if (now < next_look_ns_.load(std::memory_order_relaxed)) return are_lost_.load(std::memory_order_relaxed);
  next_look_ns_.store(now + interval_ns, std::memory_order_relaxed);
  if (!mutex_.try_lock()) return are_lost_.load(std::memory_order_relaxed);
  const LockGuard lock(mutex_, std::adopt_lock);
  if (look()) are_lost_.store(true, std::memory_order_relaxed);
  return are_lost_.load(std::memory_order_relaxed);
}

// True where nobody will come any more.
bool AgentsHere::look() const {
  const agents::Failure failure = segment().header().failure.load(std::memory_order_acquire);
  if (failure == agents::Failure::job) return true;
  if (lost_since_s_ == 0) {
    if (failure == agents::Failure::none && !connection_->is_lost()) return false;
    lost_since_s_ = now_s();
  }
  if (connection_->is_lost() && connection_->meet_again()) {
    lost_since_s_ = 0;
    return false;
  }
  return now_s() - lost_since_s_ > longest_s_ || connection_->is_for_good();
}

}  // namespace unisono::runtime
