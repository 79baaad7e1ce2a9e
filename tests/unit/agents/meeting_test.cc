// SPDX-License-Identifier: BSD-3-Clause
#include "agents/meeting.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "agents/absence.h"
#include "agents/agent_processes.h"
#include "agents/left_memory.h"
#include "base/clock.h"
#include "shm/pool/segment.h"

namespace unisono::agents {
namespace {

std::string new_job() {
  return std::to_string(shm::draw_nonce());
}

std::unique_ptr<AgentSegment> new_segment(std::int32_t rank = 0) {
  std::string why;
  auto made =
      AgentSegment::create("unisono-test", {.rank = rank, .agents = 3, .process_id = getpid(), .channels = 5},
                           std::size_t{1} << 20, &why);
  EXPECT_NE(made, nullptr) << why;
  return made;
}

std::unique_ptr<Meeting> open_meeting(const std::string& job, const AgentSegment& segment, std::string* why) {
  auto opened = Meeting::open(job, 0, why);
  if (opened != nullptr) opened->receive(segment);
  return opened;
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
  const auto meeting = open_meeting(job, *segment, &why);
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
  const auto here = open_meeting(job, *first, &why);
  const auto there = open_meeting(job, *second, &why);
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
    meeting = open_meeting(job, *segment, &why_not);
  });
  const auto connection = Connection::open(job, 0, 10, &why);
  late.join();
  EXPECT_NE(connection, nullptr) << why;
}

TEST(Meeting, a_rank_hears_that_no_agent_comes) {
  const std::string job = new_job();
  std::unique_ptr<Absence> absence;
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    absence = Absence::say(job);
  });
  std::string why;
  const double begin_s = now_s();
  EXPECT_EQ(Connection::open(job, 0, 30, &why), nullptr);
  late.join();
  EXPECT_EQ(why, "they have ended before this rank has met one");
  EXPECT_LT(now_s() - begin_s, 10);
  EXPECT_FALSE(Absence::is_said(new_job())) << "it is another job's";
  absence.reset();
  EXPECT_FALSE(Absence::is_said(job));
}

TEST(Meeting, a_rank_hears_that_nobody_takes_over) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  auto meeting = open_meeting(job, *segment, &why);
  const auto connection = Connection::open(job, 0, 10, &why);
  ASSERT_NE(connection, nullptr) << why;
  meeting.reset();
  ASSERT_TRUE(comes_true([&] { return connection->is_lost(); }));
  EXPECT_FALSE(connection->is_for_good());
  const auto absence = Absence::say(job);
  EXPECT_TRUE(connection->is_for_good());
}

TEST(Meeting, each_hears_that_the_other_has_died) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  auto meeting = open_meeting(job, *segment, &why);
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

TEST(Meeting, a_rank_meets_the_agent_that_takes_over) {
  const std::string job = new_job();
  std::string why;
  const auto segment =
      AgentSegment::create(AgentSegment::name(job, 0), {.rank = 4}, std::size_t{1} << 20, &why);
  auto meeting = open_meeting(job, *segment, &why);
  const auto connection = Connection::open(job, 0, 10, &why);
  ASSERT_NE(connection, nullptr) << why;
  meeting.reset();
  ASSERT_TRUE(comes_true([&] { return connection->is_lost(); }));
  EXPECT_FALSE(connection->meet_again()) << "nobody is there";
  // Of the name that the first one had, and with other memory: it is not the one.
  const auto other = new_segment();
  auto stranger = open_meeting(job, *other, &why);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(connection->meet_again());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stranger.reset();
  const LeftMemory left = find_left_memory(job, 0);
  ASSERT_NE(left.segment, nullptr);
  EXPECT_EQ(left.segment->header().agent.rank, 4);
  meeting = open_meeting(job, *left.segment, &why);
  bool is_met = false;
  EXPECT_TRUE(comes_true([&] { return is_met = is_met || connection->meet_again(); }));
  EXPECT_FALSE(connection->is_lost());
  EXPECT_TRUE(comes_true([&] { return meeting->present() == 1; }));
  EXPECT_EQ(find_left_memory(job, 1).segment, nullptr);
  meeting.reset();  // before the memory that it hands out
}

TEST(Meeting, processes_that_hold_the_memory_are_there_until_they_end) {
  const std::string job = new_job();
  std::string why;
  auto segment = AgentSegment::create(AgentSegment::name(job, 3), {}, std::size_t{1} << 20, &why);
  const pid_t rank = fork();
  if (rank == 0) {
    pause();
    _exit(0);
  }
  segment.reset();  // the child has it still
  const LeftMemory left = find_left_memory(job, 3);
  ASSERT_NE(left.segment, nullptr);
  EXPECT_EQ(left.holders, std::vector<int>{rank});
  const auto meeting = Meeting::open(job, 0, &why);
  meeting->receive(*left.segment, left.holders);
  EXPECT_EQ(meeting->present(), 1);
  EXPECT_EQ(meeting->arrived(), 1);
  kill(rank, SIGKILL);
  EXPECT_TRUE(comes_true([&] { return meeting->present() == 0; }));
  waitpid(rank, nullptr, 0);
}

TEST(Meeting, older_agents_of_the_job_are_ended) {
  const std::string job = new_job();
  const auto start = [](std::vector<const char*> words) {
    const pid_t process = fork();
    if (process == 0) {
      words.push_back(nullptr);
      execv("/bin/sh", const_cast<char* const*>(words.data()));
      _exit(1);
    }
    return process;
  };
  // What they run does not matter: the words do.
  constexpr const char* script = "while :; do sleep 0.05; done";
  const pid_t older = start({"bin/unisono-agent", "-c", script, "--job", job.c_str(), "--again", "1"});
  const pid_t oldest = start({"unisono-agent", "-c", script, "--job", job.c_str()});
  const pid_t others = start({"unisono-agent", "-c", script, "--job", "another"});
  const pid_t of_now = start({"unisono-agent", "-c", script, "--job", job.c_str(), "--again", "2"});
  const auto has_words = [](pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
    std::string words;
    std::getline(file, words);
    return words.find("--job") != std::string::npos;
  };
  for (const pid_t process : {older, oldest, others, of_now})
    ASSERT_TRUE(comes_true([&] { return has_words(process); }));
  end_agents_before(job, 2);
  int status = 0;
  EXPECT_EQ(waitpid(older, &status, WNOHANG), older);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(waitpid(oldest, &status, WNOHANG), oldest);
  for (const pid_t process : {others, of_now}) {
    EXPECT_EQ(waitpid(process, &status, WNOHANG), 0);
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
  }
}

// So many more descriptors this process may have from now on.
void leave_descriptors(int count) {
  int number = 0;
  for (;; ++number) {
    if (fcntl(number, F_GETFD) < 0 && count-- == 0) break;
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(number);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// What a rank hears that has so many descriptors left; it has the whole time to wait. -1: as many as ever.
std::string heard_by_rank(const std::string& job, int descriptors) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe";
  const pid_t rank = fork();
  if (rank == 0) {
    std::string why;
    if (descriptors >= 0) leave_descriptors(descriptors);
    const double begin_s = now_s();
    if (Connection::open(job, 0, 60, &why) != nullptr) why = "met";
    if (now_s() - begin_s > 30) why += ", late";
    _exit(write(ends[1], why.data(), why.size()) < 0);
  }
  close(ends[1]);
  char text[256];
  const ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  waitpid(rank, nullptr, 0);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

TEST(Meeting, a_rank_hears_at_once_that_it_has_no_descriptor_left) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  const auto meeting = open_meeting(job, *segment, &why);
  ASSERT_NE(meeting, nullptr) << why;
  // For a socket; for the memory behind it; for both.
  for (const int descriptors : {0, 1}) {
    const std::string heard = heard_by_rank(job, descriptors);
    EXPECT_TRUE(heard.starts_with("this rank has no file descriptor left. It may have ")) << heard;
    EXPECT_TRUE(heard.ends_with(": raise that by `ulimit -n`")) << heard;
  }
  EXPECT_EQ(meeting->arrived(), 0) << "others of the node may come yet";
  EXPECT_EQ(heard_by_rank(job, 2), "met");
  EXPECT_TRUE(comes_true([&] { return meeting->arrived() == 1; }));
}

TEST(Meeting, a_rank_hears_at_once_that_the_agent_has_no_descriptor_left) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  const auto meeting = open_meeting(job, *segment, &why);
  ASSERT_NE(meeting, nullptr) << why;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t watched = fork();  // of many ranks one after the other
  if (watched == 0) {
    char byte = 0;
    bool is_told = read(ends[0], &byte, 1) == 1;
    for (int i = 0; i < 20; ++i) {
      const std::string heard = heard_by_rank(job, -1);
      is_told = is_told && heard.starts_with("an agent has no file descriptor left. It may have ");
      if (!is_told) std::fprintf(stderr, "%s\n", heard.c_str());
    }
    _exit(is_told ? 0 : 1);
  }
  leave_descriptors(0);
  int status = 0;
  EXPECT_EQ(write(ends[1], "a", 1), 1);
  waitpid(watched, &status, 0);
  setrlimit(RLIMIT_NOFILE, &before);
  for (const int end : ends) close(end);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(heard_by_rank(job, -1), "met") << "it has some again";
}

TEST(Meeting, no_agent_begins_without_descriptors) {
  const std::string job = new_job();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  for (const int descriptors : {0, 1, 2}) {
    leave_descriptors(descriptors);
    std::string why;
    EXPECT_EQ(Meeting::open(job, 0, &why), nullptr);
    EXPECT_TRUE(why.starts_with("an agent has no file descriptor left. It may have ")) << why;
    leave_descriptors(0);
    why.clear();
    EXPECT_EQ(AgentSegment::create("unisono-test", {}, std::size_t{1} << 20, &why), nullptr);
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_TRUE(why.starts_with("an agent has no file descriptor left. It may have ")) << why;
  }
}

TEST(Meeting, strangers_are_sent_away) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  const auto meeting = open_meeting(job, *segment, &why);
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
  EXPECT_EQ(AgentSegment::create("unisono-test", {}, 16, &why), nullptr);
  EXPECT_NE(why.find("too small"), std::string::npos) << why;
}

// A rank that closes descriptors which are not its own hears nothing, and closes nothing of its program's.
TEST(Meeting, a_socket_that_the_program_has_closed_is_left_alone) {
  const std::string job = new_job();
  const auto segment = new_segment();
  std::string why;
  const auto meeting = open_meeting(job, *segment, &why);
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
