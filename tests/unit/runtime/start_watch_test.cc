// SPDX-License-Identifier: BSD-3-Clause
// What a rank says that waits in MPI_Init for others: each case is a process of its own, rank 0 of a job
// whose launcher is this one. (Ranks without Unisono: tests/integration/test_entry.py.)
#include "runtime/world/start_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"

namespace unisono::runtime::start_watch_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ExitedWithCode;

constexpr StartWatch::Patience short_patience{
    .first_look = 20ms, .longest_pause = 40ms, .first_words = 100ms, .first_words_elsewhere = 200ms};

// Says to the program that it is rank 0 of a job, and is to wait.
constexpr const char* as_rank_0 = "START_WATCH_TEST";

bool is_rank_0() {
  return std::getenv(as_rank_0) != nullptr;
}

// The same test again in a process that a launcher has started as rank 0: processes are told from each other
// by the environment that they were started with.
[[noreturn]] void run_as_rank_0() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  std::vector<std::string> variables = {"PMI_RANK=0", std::string(as_rank_0) + "=1"};
  const Environment given = Environment::of_process();
  for (const std::string& variable : given.variables()) {
    const bool is_launchers = variable.starts_with("OMPI_COMM_WORLD_RANK=") ||
                              variable.starts_with("PMIX_RANK=") || variable.starts_with("PMI_RANK=");
    if (!is_launchers) variables.push_back(variable);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string name = "start_watch_test";
  char* const arguments[] = {name.data(), filter.data(), nullptr};
  execve("/proc/self/exe", arguments, environment.data());
  std::exit(3);
}

// Rank 0 of `size`, beside a rank 1 that has not called MPI, waits until it has said something, at most so
// long.
void wait_for_others(int size, const StartWatch::Patience& patience, std::chrono::milliseconds longest) {
  std::string folder = ::testing::TempDir() + "/unisono-watch-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) std::exit(2);
  // What an adapter looks like to those who look.
  const std::string adapter = folder + "/libunisono-test.so", said = folder + "/said";
  const int file = open(adapter.c_str(), O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 1) != 0 || mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)
    std::exit(2);
  char program[] = "sleep", argument[] = "60", rank[] = "PMI_RANK=1";
  char* const arguments[] = {program, argument, nullptr};
  char* const environment[] = {rank, nullptr};
  pid_t other = 0;
  if (posix_spawn(&other, "/bin/sleep", nullptr, nullptr, arguments, environment) != 0) std::exit(2);
  const int errors = dup(STDERR_FILENO), listener = open(said.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  dup2(listener, STDERR_FILENO);
  {
    const StartWatch watch(0, size, patience);
    for (auto waited = 0ms; waited < longest && std::filesystem::file_size(said) == 0; waited += 10ms)
      std::this_thread::sleep_for(10ms);
  }
  dup2(errors, STDERR_FILENO);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  std::ifstream words(said);
  std::cerr << std::string(std::istreambuf_iterator<char>(words), {});
  std::filesystem::remove_all(folder);
  std::exit(0);
}

TEST(StartWatchTest, SaysForWhomItWaits) {
  if (is_rank_0()) wait_for_others(3, short_patience, 60s);
  EXPECT_EXIT(run_as_rank_0(), ExitedWithCode(0),
              "rank 0 has waited 0 s in MPI_Init for other ranks of the job: on this host rank 1 "
              "\\(process [0-9]+, .*sleep[^)]*\\) did not come so far; 1 of 3 ranks wait on this host, "
              "1 are not seen from it. A rank without Unisono never comes");
}

TEST(StartWatchTest, SaysNothingOfARankThatIsOnlySlow) {
  if (is_rank_0()) wait_for_others(2, StartWatch::Patience(), 50ms);
  EXPECT_EXIT(run_as_rank_0(), ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace unisono::runtime::start_watch_test
