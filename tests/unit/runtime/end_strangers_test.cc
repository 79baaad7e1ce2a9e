// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/end_strangers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <vector>

namespace unisono::runtime::end_strangers_test {
namespace {

using namespace std::chrono_literals;

// A process that waits, and ends by SIGTERM or does not.
pid_t start_waiting(bool ends_by_request) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t id = fork();
  if (id == 0) {
    signal(SIGTERM, ends_by_request ? SIG_DFL : SIG_IGN);
    if (::write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return id;
}

int signal_that_ended(pid_t id) {
  int status = 0;
  EXPECT_EQ(waitpid(id, &status, 0), id);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// As a rank does that ends at once.
void ask_and_end(const std::vector<int>& processes, std::chrono::milliseconds patience) {
  const pid_t id = fork();
  if (id == 0) {
    end_later(processes, patience);
    _exit(125);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  ASSERT_EQ(WEXITSTATUS(status), 125);
}

TEST(EndStrangersTest, EndsWhoIsStillThere) {
  const pid_t mild = start_waiting(true), stubborn = start_waiting(false), other = start_waiting(true);
  ask_and_end({mild, stubborn}, 20ms);
  EXPECT_EQ(signal_that_ended(mild), SIGTERM);
  EXPECT_EQ(signal_that_ended(stubborn), SIGKILL);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "nobody else is touched";
  kill(other, SIGKILL);
  signal_that_ended(other);
}

// What waits holds nothing of the process that started it: a pipe of it ends with it.
TEST(EndStrangersTest, HoldsNoDescriptor) {
  const pid_t waiting = start_waiting(true);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ask_and_end({waiting}, 60s);
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "the end of the pipe comes while it still waits";
  close(ends[0]);
  EXPECT_EQ(waitpid(waiting, nullptr, WNOHANG), 0);
  kill(waiting, SIGKILL);
  signal_that_ended(waiting);
}

}  // namespace
}  // namespace unisono::runtime::end_strangers_test
