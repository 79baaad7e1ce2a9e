// SPDX-License-Identifier: BSD-3-Clause
// Agents that die at every step, and others that take over what they leave: ranks notice nothing.
#include "agents/recovery.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fake_nodes.h"

namespace unisono::agents {
namespace {

// The agents of a job, started again each time when they have died.
class DyingAgents {
 public:
  explicit DyingAgents(int nodes) : job(new_job()), thread_([this, nodes] { live(nodes); }) {}
  ~DyingAgents() {
    has_end_ = stop_ = true;
    thread_.join();
    EXPECT_EQ(failures_, std::vector<std::string>());
  }
  DyingAgents(const DyingAgents&) = delete;

  // They die after so many steps each, one generation after the other.
  void die_after(const std::vector<int>& steps) {
    const std::lock_guard lock(mutex_);
    next_.assign(steps.begin() + 1, steps.end());
    steps_left_ = steps.front();
  }
  int deaths() const { return deaths_; }

  const std::string job;
  std::atomic<const std::vector<std::unique_ptr<Node>>*> nodes{nullptr};  // that are woken when agents die

 private:
  void live(int count) {
    for (int again = 0; !has_end_; ++again) {
      fake_host::FakeWorld world(count, {.deadlock_seconds = 120, .steps_left = &steps_left_});
      try {
        world.run([&](fake_host::FakeHost& host, int) { live(host, again); });
      } catch (const fake_host::Stopped&) {
        ++deaths_;
      }
      const std::lock_guard lock(mutex_);
      steps_left_ = next_.empty() ? 0 : next_.front();
      if (!next_.empty()) next_.erase(next_.begin());
      stop_ = has_end_.load();
    }
  }

  void live(fake_host::FakeHost& host, int again) {
    try {
      const std::string why = run(host, host.world(), {.job = job, .must_end = &stop_, .again = again});
      const std::lock_guard lock(mutex_);
      if (!why.empty()) failures_.push_back(why);
    } catch (const fake_host::Stopped&) {
      stop_ = true;
      if (nodes != nullptr) {
        for (const auto& node : *nodes.load()) shm::ring(&node->segment().header().bell);
      }
      throw;
    }
  }

  std::atomic<bool> stop_{false}, has_end_{false};
  std::atomic<int> steps_left_{0}, deaths_{0};
  std::mutex mutex_;
  std::vector<int> next_;
  std::vector<std::string> failures_;
  std::thread thread_;
};

struct Op {
  Operation operation;
  int root_node, root_rank;
  std::size_t count;
};

std::vector<Op> random_sequence(std::uint64_t seed, int nodes, int ranks, int length) {
  std::mt19937_64 random(seed);
  constexpr Operation all[] = {Operation::allreduce, Operation::bcast, Operation::reduce, Operation::barrier};
  constexpr std::size_t counts[] = {1, 3, 4, 5, 6, 7, 400};
  std::vector<Op> made;
  for (int i = 0; i < length; ++i) {
    const Operation operation = all[random() % 4];
    made.push_back({operation, static_cast<int>(random() % static_cast<unsigned>(nodes)),
                    static_cast<int>(random() % static_cast<unsigned>(ranks)),
                    operation == Operation::barrier ? 0 : counts[random() % 7]});
  }
  return made;
}

double value(int call, int node, int rank, std::size_t i) {
  return static_cast<double>(1000 * call + 100 * node + 10 * rank) + static_cast<double>(i);
}

// One rank's calls on one channel.
class Caller {
 public:
  Caller(RankChannel& channel, const std::vector<Op>& ops, int nodes, int ranks, int node, int rank)
      : channel_(channel), ops_(ops), nodes_(nodes), ranks_(ranks), node_(node), rank_(rank) {}
  bool can_post() const { return posted_ < ops_.size() && channel_.has_room(); }
  bool is_done() const { return awaited_ == ops_.size(); }
  bool can_finish() const { return awaited_ < posted_ && channel_.is_answered(awaited_ + 1); }

  void post() {
    const int call = static_cast<int>(posted_);
    const Op& op = ops_[posted_++];
    const bool is_root = op.root_node == node_ && op.root_rank == rank_;
    const char* algorithm = op.operation == Operation::allreduce ? "recursive_doubling"
                            : op.operation == Operation::barrier ? "dissemination"
                                                                 : "binomial";
    const bool is_rooted_here = op.operation == Operation::bcast || op.operation == Operation::reduce;
    std::vector<double> operand(op.count);
    for (std::size_t i = 0; i < op.count; ++i) operand[i] = value(call, node_, rank_, i);
    const int schedule =
        schedule_of(channel_, op.operation, algorithm, nodes_, node_, is_rooted_here ? op.root_node : 0);
    EXPECT_GE(schedule, 0);
    const bool gives = op.operation == Operation::bcast ? is_root : op.count != 0;
    channel_.post({.count = static_cast<std::uint32_t>(op.count),
                   .schedule = static_cast<std::uint8_t>(schedule),
                   .operation = op.operation,
                   .element = op.count == 0 ? ElementType::byte : ElementType::float64,
                   .is_root = is_rooted_here && is_root,
                   .float_control = FloatControl::of_this_thread()},
                  gives ? operand.data() : nullptr, op.count * sizeof(double));
  }

  void finish_one() {
    const int call = static_cast<int>(awaited_);
    const Op& op = ops_[awaited_++];
    const std::vector<double> found = await(channel_, awaited_, op.count);
    if (op.operation == Operation::reduce && op.root_node != node_) return;
    std::vector<double> expected(op.count);
    for (std::size_t i = 0; i < op.count; ++i) {
      if (op.operation == Operation::bcast) expected[i] = value(call, op.root_node, op.root_rank, i);
      for (int n = 0; op.operation != Operation::bcast && n < nodes_; ++n) {
        for (int r = 0; r < ranks_; ++r) expected[i] += value(call, n, r, i);
      }
    }
    EXPECT_EQ(found, expected) << "call " << call << " of node " << node_;
  }

 private:
  RankChannel& channel_;
  const std::vector<Op>& ops_;
  const int nodes_, ranks_, node_, rank_;
  std::size_t posted_ = 0, awaited_ = 0;
};

struct Setting {
  int nodes, ranks, length;
  std::uint64_t seed;
};

// Two channels at a time. How often agents have died.
int run_with_deaths(const Setting& run, const std::vector<int>& steps) {
  DyingAgents agents(run.nodes);
  const auto first = make_nodes(agents.job, run.nodes, run.ranks, 0);
  const auto second = make_nodes(agents.job, run.nodes, run.ranks, 5);
  agents.nodes = &first;
  const std::vector<Op> ops[2] = {random_sequence(run.seed, run.nodes, run.ranks, run.length),
                                  random_sequence(run.seed + 1000, run.nodes, run.ranks, run.length)};
  agents.die_after(steps);
  for_each_rank(first, [&](RankChannel& channel, int node, int rank) {
    RankChannel& other = *second[static_cast<std::size_t>(node)]->channels[static_cast<std::size_t>(rank)];
    std::mt19937_64 random(run.seed * 7919 + static_cast<std::uint64_t>(10 * node + rank));
    Caller callers[2] = {{channel, ops[0], run.nodes, run.ranks, node, rank},
                         {other, ops[1], run.nodes, run.ranks, node, rank}};
    const double deadline_s = now_s() + 30;
    while ((!callers[0].is_done() || !callers[1].is_done()) && now_s() < deadline_s) {
      for (Caller& caller : callers) {
        for (auto more = random() % (window + 1); more > 0 && caller.can_post(); --more) caller.post();
      }
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      for (Caller& caller : callers) {
        while (caller.can_finish() && (!caller.can_post() || random() % 2 == 0)) caller.finish_one();
      }
      std::this_thread::yield();
    }
    EXPECT_TRUE(callers[0].is_done() && callers[1].is_done()) << "node " << node << " waits for ever";
  });
  agents.nodes = nullptr;
  return agents.deaths();
}

class Deaths : public testing::TestWithParam<int> {};

TEST_P(Deaths, no_result_is_lost_or_wrong) {
  const int part = GetParam();
  int deaths = 0;
  for (int step = 1 + part; step < 240 && !testing::Test::HasFailure(); step += 8) {
    const Setting run{
        .nodes = 2 + step % 3, .ranks = 1 + step % 2, .length = 14, .seed = static_cast<std::uint64_t>(step)};
    SCOPED_TRACE("after " + std::to_string(step) + " steps");
    deaths += run_with_deaths(run, {step, 5 + 3 * (step % 17), 10 + step % 29});
  }
  EXPECT_GT(deaths, 30);
}

INSTANTIATE_TEST_SUITE_P(Steps, Deaths, testing::Range(0, 8));

}  // namespace
}  // namespace unisono::agents
