// SPDX-License-Identifier: BSD-3-Clause
// Ranks as processes that die, leave, or only take long. Rank counts: 2 and 3.
#include "runtime/world/peers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <new>

#include "../shm/ranks.h"
#include "base/clock.h"
#include "shm/slice/slice.h"

namespace unisono::runtime::peers_test {
namespace {

// Rank `rank` of a node whose members stand in shared memory.
pid_t start_rank(shm::Members* members, int rank, const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  members->enter(static_cast<std::uint32_t>(rank), rank);
  body();
  _exit(0);
}

void wait_for_end(pid_t child, bool is_reaped) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | (is_reaped ? 0 : WNOWAIT));
}

TEST(Members, only_who_ends_without_leaving_has_died) {
  const shm::SharedMemory memory(sizeof(shm::Members));
  auto* members = new (memory.get()) shm::Members;
  members->enter(0, 0);
  const pid_t killed = start_rank(members, 1, [] { raise(SIGKILL); });
  const pid_t gone = start_rank(members, 2, [&] { members->leave(); });
  const pid_t living = start_rank(members, 3, [] { pause(); });
  wait_for_end(killed, false);
  EXPECT_TRUE(members->has_died(1)) << "nobody has asked for its exit status yet";
  EXPECT_EQ(members->process_id(1), killed);
  wait_for_end(killed, true);
  EXPECT_TRUE(members->has_died(1));
  wait_for_end(gone, true);
  EXPECT_FALSE(members->has_died(2));
  while (members->process_id(3) == 0) sched_yield();
  EXPECT_FALSE(members->has_died(3));
  EXPECT_FALSE(members->has_died(0));
  EXPECT_FALSE(members->has_died(4)) << "who never came cannot die";
  kill(living, SIGKILL);
  wait_for_end(living, true);
  EXPECT_TRUE(members->has_died(3));
}

class PeersOfWaits : public testing::TestWithParam<shm::WaitPolicy> {};

TEST_P(PeersOfWaits, a_wait_for_a_dead_rank_ends_and_one_for_a_slow_rank_does_not) {
  const shm::SharedMemory members_memory(sizeof(shm::Members));
  auto* members = new (members_memory.get()) shm::Members;
  const shm::SliceShape shape{.local_size = 2, .area_bytes = 4096};
  const shm::SharedMemory slice_memory(shape.bytes());
  constexpr useconds_t longer_than_to_the_first_look_us = 450'000;
  const pid_t child = start_rank(members, 1, [&] {
    shm::Slice slice(slice_memory.get(), shape, 1, {.policy = GetParam()});
    usleep(longer_than_to_the_first_look_us);
    slice.barrier();
    raise(SIGKILL);
  });
  members->enter(0, 0);
  Peers peers(*members, {1});
  shm::WaitConfig wait{.policy = GetParam()};
  wait.peers = peers.watch();
  shm::Slice slice(slice_memory.get(), shape, 0, wait);
  EXPECT_NO_THROW(slice.barrier());
  int lost = -1;
  try {
    slice.barrier();
  } catch (const PeerLost& peer) {
    lost = peer.rank;
  }
  EXPECT_EQ(lost, 1);
  EXPECT_TRUE(peers.are_lost_by_now());
  wait_for_end(child, true);
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, PeersOfWaits,
                         testing::Values(shm::WaitPolicy::spin, shm::WaitPolicy::pause,
                                         shm::WaitPolicy::yield, shm::WaitPolicy::futex),
                         [](const auto& info) { return std::string(shm::name(info.param)); });

TEST(Peers, who_asks_again_and_again_hears_of_a_death) {
  const shm::SharedMemory memory(sizeof(shm::Members));
  auto* members = new (memory.get()) shm::Members;
  const pid_t child = start_rank(members, 1, [] { raise(SIGKILL); });
  wait_for_end(child, true);
  Peers peers(*members, {1});
  EXPECT_FALSE(peers.are_lost_by_now()) << "one question alone does not look";
  while (!peers.are_lost_by_now()) {
  }
  Peers others(*members, {2});
  const std::uint64_t end_ns = now_ns() + 600'000'000;
  while (now_ns() < end_ns) ASSERT_FALSE(others.are_lost_by_now());
}

}  // namespace
}  // namespace unisono::runtime::peers_test
