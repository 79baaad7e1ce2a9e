// SPDX-License-Identifier: BSD-3-Clause
#include "agents/meeting.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "shm/pool/segment.h"

namespace unisono::agents {
namespace {

std::string new_job() {
  return std::to_string(shm::draw_nonce());
}

std::unique_ptr<AgentSegment> new_segment(std::int32_t rank = 0) {
  std::string why;
  auto made = AgentSegment::create({.rank = rank, .agents = 3, .process_id = getpid(), .channels = 5},
                                   std::size_t{1} << 20, &why);
  EXPECT_NE(made, nullptr) << why;
  return made;
}

bool comes_true(const std::function<bool()>& what) {
  const double deadline_s = now_s() + 10;
  while (!what() && now_s() < deadline_s) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return what();
}

TEST(Meeting, a_rank_gets_the_agents_memory) {
  const std::string job = new_job();
  const auto segment = new_segment(2);
  std::string why;
  const auto meeting = Meeting::open(job, *segment, &why);
  ASSERT_NE(meeting, nullptr) << why;
  EXPECT_EQ(meeting->place(), 0);
  auto connection = Connection::open(job, 0, 10, &why);
  ASSERT_NE(connection, nullptr) << why;
  const SegmentHeader& seen = connection->segment().header();
  EXPECT_NE(&seen, &segment->header());
  EXPECT_EQ(seen.agent.rank, 2);
  EXPECT_EQ(seen.agent.agents, 3);
  EXPECT_EQ(seen.agent.channels, 5);
  const std::int64_t offset = connection->segment().reserve(1000);
  ASSERT_GT(offset, 0);
  EXPECT_TRUE(segment->holds(static_cast<std::uint64_t>(offset), 1000));
  connection->segment().at(static_cast<std::uint64_t>(offset))[7] = 'x';
  EXPECT_EQ(segment->at(static_cast<std::uint64_t>(offset))[7], 'x');
  EXPECT_EQ(meeting->present(), 1);
  connection.reset();
  EXPECT_TRUE(comes_true([&] { return meeting->present() == 0; }));
  EXPECT_EQ(meeting->arrived(), 1);
}

TEST(Meeting, agents_on_one_machine_take_one_place_after_the_other) {
  const std::string job = new_job();
  const auto first = new_segment(0), second = new_segment(1);
  std::string why;
  const auto here = Meeting::open(job, *first, &why);
  const auto there = Meeting::open(job, *second, &why);
  ASSERT_NE(there, nullptr) << why;
  EXPECT_EQ(there->place(), 1);
  const auto connection = Connection::open(job, 1, 10, &why);
  ASSERT_NE(connection, nullptr) << why;
  EXPECT_EQ(connection->segment().header().agent.rank, 1);
}

TEST(Meeting, a_rank_waits_for_the_agent_and_gives_up) {
  const std::string job = new_job();
  std::string why;
  const double begin_s = now_s();
  EXPECT_EQ(Connection::open(job, 0, 0.05, &why), nullptr);
  EXPECT_EQ(why, "no agent of this job answers on this node");
  EXPECT_LT(now_s() - begin_s, 5);
  const auto segment = new_segment();
  std::unique_ptr<Meeting> meeting;
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::string why_not;
    meeting = Meeting::open(job, *segment, &why_not);
  });
  const auto connection = Connection::open(job, 0, 10, &why);
  late.join();
  EXPECT_NE(connection, nullptr) << why;
}

TEST(Meeting, each_hears_that_the_other_has_died) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  auto meeting = Meeting::open(job, *segment, &why);
  ASSERT_NE(meeting, nullptr) << why;
  const pid_t rank = fork();
  if (rank == 0) {
    const auto connection = Connection::open(job, 0, 10, &why);
    if (connection == nullptr) _exit(1);
    pause();
  }
  EXPECT_TRUE(comes_true([&] { return meeting->present() == 1; }));
  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return meeting->present() == 0; }));

  const auto connection = Connection::open(job, 0, 10, &why);
  ASSERT_NE(connection, nullptr) << why;
  EXPECT_FALSE(connection->is_lost());
  meeting.reset();
  EXPECT_TRUE(connection->is_lost());
}

TEST(Meeting, strangers_are_sent_away) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  const auto meeting = Meeting::open(job, *segment, &why);
  const meeting::Address address(job, 0);
  const int stranger = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  ASSERT_EQ(connect(stranger, reinterpret_cast<const sockaddr*>(address.bytes), address.length), 0);
  meeting::Greeting other = meeting::own_greeting();
  other.version[0] = '?';
  ASSERT_EQ(send(stranger, &other, sizeof other, 0), static_cast<ssize_t>(sizeof other));
  char byte = 0;
  EXPECT_EQ(recv(stranger, &byte, 1, 0), 0) << "another version";
  close(stranger);
  EXPECT_EQ(meeting->arrived(), 0);
  EXPECT_NE(Connection::open(job, 0, 10, &why), nullptr) << "others are served on: " << why;
}

TEST(Meeting, what_is_no_agents_memory_is_refused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string why;
  EXPECT_EQ(AgentSegment::open(ends[0], &why), nullptr);
  EXPECT_NE(why.find("not its memory"), std::string::npos) << why;
  close(ends[1]);
  EXPECT_EQ(AgentSegment::create({}, 16, &why), nullptr);
  EXPECT_NE(why.find("too small"), std::string::npos) << why;
}

// A rank that closes descriptors which are not its own hears nothing, and closes nothing of its program's.
TEST(Meeting, a_socket_that_the_program_has_closed_is_left_alone) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  const auto meeting = Meeting::open(job, *segment, &why);
  const int lowest = dup(0);
  close(lowest);
  auto connection = Connection::open(job, 0, 10, &why);
  ASSERT_NE(connection, nullptr) << why;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (int descriptor = lowest; descriptor < ends[0]; ++descriptor) {
    sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) == 0) dup2(ends[0], descriptor);
  }
  EXPECT_FALSE(connection->is_lost());
  connection.reset();
  ASSERT_EQ(write(ends[1], "a", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
}

}  // namespace
}  // namespace unisono::agents
