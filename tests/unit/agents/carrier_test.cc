// SPDX-License-Identifier: BSD-3-Clause
// Carriers: UCC's stand-in (tests/stand_ins/ucc.cc) beside the agents' own messages.
#include "agents/carrier.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fake_nodes.h"

extern "C" void ucc_stand_in_fails(const char* functions);

namespace unisono::agents {
namespace {

// What of the stand-in fails, for a while.
class Failing {
 public:
  explicit Failing(const char* what) { ucc_stand_in_fails(what); }
  ~Failing() { ucc_stand_in_fails(""); }
  Failing(const Failing&) = delete;
};

LifeOptions by_ucc() {
  LifeOptions life;
  life.carrier = "ucc";
  return life;
}

constexpr double own(int node, int rank) {
  return 1 + 10 * node + rank;
}

struct Done {
  std::set<std::string> carriers;
  int error = 0;
};

// Calls of all operations, one behind the other, on every rank: what carried them.
class Round {
 public:
  Round(RankChannel& channel, int nodes, int node, int rank, int ranks)
      : channel_(channel), nodes_(nodes), node_(node), rank_(rank), ranks_(ranks) {}

  void all(Done* done) {
    double sum = 0, product = 1, least = own(0, 0);
    for (int n = 0; n < nodes_; ++n) {
      for (int r = 0; r < ranks_; ++r) {
        sum += own(n, r);
        product *= own(n, r);
      }
    }
    for (const std::size_t count : {1U, 6U, 1000U}) {
      expect(done, Operation::allreduce, "recursive_doubling", ReduceOp::sum, count, 0, sum);
      expect(done, Operation::allreduce, "recursive_doubling", ReduceOp::min, count, 0, least);
      const int root = static_cast<int>(count) % nodes_;
      expect(done, Operation::reduce, "binomial", ReduceOp::sum, count, root, sum);
      expect(done, Operation::bcast, "binomial", ReduceOp::sum, count, root, own(root, 0));
      expect(done, Operation::barrier, "dissemination", ReduceOp::sum, 0, 0, 0);
    }
    expect(done, Operation::allreduce, "recursive_doubling", ReduceOp::prod, 1, 0, product);
  }

 private:
  void expect(Done* done, Operation operation, const char* algorithm, ReduceOp op, std::size_t count,
              int root, double expected) {
    const bool is_of_root = node_ == root && rank_ == 0;
    const std::vector<double> operand(count, own(node_, rank_));
    Descriptor what{.count = static_cast<std::uint32_t>(count),
                    .schedule = static_cast<std::uint8_t>(
                        schedule_of(channel_, operation, algorithm, nodes_, node_, root)),
                    .operation = operation,
                    .element = ElementType::float64,
                    .op = op,
                    .is_root = is_of_root};
    if (is_reduction(operation)) what.float_control = FloatControl::of_this_thread();
    const bool gives = operation != Operation::barrier && (operation != Operation::bcast || is_of_root);
    const std::uint64_t number =
        channel_.post(what, gives ? operand.data() : nullptr, count * sizeof(double));
    const double deadline_s = now_s() + 20;
    while (!channel_.is_answered(number) && now_s() < deadline_s) std::this_thread::yield();
    ASSERT_TRUE(channel_.is_answered(number)) << name(operation);
    EXPECT_EQ(channel_.error(number), 0) << name(operation);
    done->carriers.insert(std::string(carriers()[static_cast<std::size_t>(channel_.carrier(number))].name) +
                          " " + std::string(name(operation)) + (op == ReduceOp::prod ? " prod" : ""));
    if (operation != Operation::reduce || node_ == root) {
      const auto* data = static_cast<const double*>(channel_.result(number, count * sizeof(double)));
      EXPECT_EQ(std::vector<double>(data, data + count), std::vector<double>(count, expected))
          << name(operation);
    }
    channel_.take(number);
  }

  RankChannel& channel_;
  const int nodes_, node_, rank_, ranks_;
};

const std::set<std::string> all_by_ucc = {"ucc allreduce", "ucc barrier", "ucc bcast", "ucc reduce",
                                          "mpi allreduce prod"};
const std::set<std::string> all_by_mpi = {"mpi allreduce", "mpi barrier", "mpi bcast", "mpi reduce",
                                          "mpi allreduce prod"};

std::set<std::string> run_round(const std::vector<std::unique_ptr<Node>>& made, int ranks) {
  std::mutex mutex;
  std::set<std::string> carriers;
  for_each_rank(made, [&](RankChannel& channel, int node, int rank) {
    Done done;
    Round(channel, static_cast<int>(made.size()), node, rank, ranks).all(&done);
    const std::lock_guard lock(mutex);
    carriers.merge(done.carriers);
  });
  return carriers;
}

std::string carrier_of(const Node& node) {
  return node.segment().header().carrier;
}
std::string why_not(const std::vector<std::unique_ptr<Node>>& nodes) {
  for (const auto& node : nodes) {
    if (const std::string why = node->segment().header().why_not_carrier; !why.empty()) return why;
  }
  return {};
}

TEST(Carrier, has_a_name_a_sentence_and_a_number) {
  for (const CarrierDescriptor& carrier : carriers()) {
    EXPECT_EQ(find_carrier(carrier.name), &carrier);
    EXPECT_EQ(&carriers()[carrier_number(carrier.name)], &carrier);
    EXPECT_FALSE(carrier.sentence.empty());
  }
  EXPECT_EQ(find_carrier("pigeons"), nullptr);
}

class UccOfNodes : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(UccOfNodes, carries_what_it_can) {
  const auto [nodes, ranks] = GetParam();
  const FakeAgents agents(nodes, {.max_delay = 5}, by_ucc());
  const auto made = make_nodes(agents.job, nodes, ranks);
  EXPECT_EQ(run_round(made, ranks), all_by_ucc);
  EXPECT_EQ(carrier_of(*made[0]), "ucc");
  EXPECT_EQ(why_not(made), "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, UccOfNodes,
                         testing::Values(std::pair(1, 1), std::pair(2, 1), std::pair(3, 2), std::pair(4, 2)));

// Teams are of all agents, and few.
TEST(Ucc, leaves_other_channels_to_messages) {
  const FakeAgents agents(3, {}, by_ucc());
  const auto late = make_nodes(agents.job, 3, 1, 5);
  EXPECT_EQ(run_round(late, 1), all_by_mpi);
  const auto other = make_nodes(agents.job, 3, 1, 2);
  EXPECT_EQ(run_round(other, 1), all_by_ucc);
}

class UccFails : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(UccFails, and_messages_serve) {
  const auto [what, reason] = GetParam();
  const Failing failing(what);
  FakeAgents agents(3, {}, by_ucc());
  agents.may_leave_messages =
      std::string_view(what).starts_with("context@") || std::string_view(what).starts_with("team");
  const auto made = make_nodes(agents.job, 3, 2);
  EXPECT_EQ(run_round(made, 2), all_by_mpi);
  EXPECT_NE(why_not(made).find(reason), std::string::npos) << why_not(made);
}

// A context waits for the other agents: those give it up after a while.
INSTANTIATE_TEST_SUITE_P(Where, UccFails,
                         testing::Values(std::pair("init", "ucc_init: Out of memory"),
                                         std::pair("context", "ucc_context_create: Out of memory"),
                                         std::pair("context@1", "ucc_context_create"),
                                         std::pair("team", "ucc_team_create_test"),
                                         std::pair("team@2", "ucc_team_create_test"),
                                         std::pair("collective_init", ""), std::pair("collective_init@1", ""),
                                         std::pair("post", "")));

TEST(Ucc, is_asked_for_by_its_name) {
  LifeOptions life;
  life.carrier = "pigeons";
  const FakeAgents agents(2, {}, life);
  const auto made = make_nodes(agents.job, 2, 1);
  EXPECT_EQ(run_round(made, 1), all_by_mpi);
  EXPECT_EQ(carrier_of(*made[1]), "mpi");
  EXPECT_EQ(why_not(made), "there is none of this name");
}

// What some agents have posted nobody can take back: the agents say so and end, and nobody waits for ever.
TEST(Ucc, a_failure_that_not_all_have_ends_the_agents) {
  for (const char* what : {"test@1", "post@1"}) {
    const Failing failing(what);
    FakeAgents agents(2, {}, by_ucc());
    const auto made = make_nodes(agents.job, 2, 1);
    for (int node = 0; node < 2; ++node) {
      const std::int64_t operand = 1;
      RankChannel& channel = *made[static_cast<std::size_t>(node)]->channels[0];
      channel.post({.count = 1,
                    .schedule = static_cast<std::uint8_t>(
                        schedule_of(channel, Operation::allreduce, "recursive_doubling", 2, node, 0)),
                    .operation = Operation::allreduce,
                    .element = ElementType::int64},
                   &operand, sizeof operand);
    }
    const Node& failed = *made[made[0]->agent() == 1 ? 0 : 1];
    const auto& header = failed.segment().header();
    const double deadline_s = now_s() + 20;
    while (header.failure.load() == Failure::none && now_s() < deadline_s) std::this_thread::yield();
    EXPECT_EQ(header.failure.load(), Failure::agent) << what;
    EXPECT_EQ(header.has_carrier_failed.load(), 1U) << what;
    agents.expected_failures = agents.end();
    ASSERT_FALSE(agents.expected_failures.empty()) << what;
    EXPECT_NE(agents.expected_failures[0].find("ucc_collective_"), std::string::npos)
        << agents.expected_failures[0];
  }
}

}  // namespace
}  // namespace unisono::agents
