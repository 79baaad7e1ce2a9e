// SPDX-License-Identifier: BSD-3-Clause
// The handler of signals that end a program (B9). Each case is in a process of its own that dies or goes on.
// The tests look at what the handler says and records, and that all else is as without it.
#include "runtime/decisions/crash_watch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/files.h"
#include "runtime/call/crash_site.h"
#include "runtime/communicators/communicator.h"

namespace unisono::runtime::crash_watch_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr std::size_t page_bytes = 4096;
char* page = nullptr;

void write_line(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::string_view(text).size());
}

// Nobody may touch it: a real fault.
void fault() {
  page = static_cast<char*>(::mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *static_cast<volatile char*>(page) = 1;
}

struct sigaction action_of(void (*handler)(int), int flags = 0) {
  struct sigaction made {};
  made.sa_handler = handler;
  made.sa_flags = flags;
  return made;
}

class CrashWatchTest : public ::testing::Test {
 protected:
  CrashWatchTest() {
    choice_.algorithm = algorithms::find(Operation::allreduce, "ring");
    choice_.parameters.set("segment", 65536);
    entry_.choice = std::make_unique<tuning::Choice>(choice_);
  }
  ~CrashWatchTest() override { fs::remove_all(folder_); }

  // What a sanitizer has put there would say something else.
  static void without_handlers() {
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(number, SIG_DFL);
  }
  void begin(bool is_said = true) const {
    begin_crash_watch({.file = file(),
                       .known = {.place = {"solver", "a CPU", "an MPI", "1.2"},
                                 .host = "node",
                                 .rank = 3,
                                 .ranks = 8,
                                 .id = "node:1:1"},
                       .is_said = is_said});
  }
  std::string file() const { return tuning::crash_file(folder_ / "not" / "there yet"); }
  tuning::ReadCrashes recorded() const { return tuning::read_crashes(file()); }

  const fs::path folder_ = fs::temp_directory_path() / ("crash_watch_test." + std::to_string(::getpid()));
  tuning::Choice choice_;
  CallClass entry_;
};

TEST_F(CrashWatchTest, SaysAndRecordsWhatItDiedIn) {
  const auto die = [&] {
    without_handlers();
    begin();
    const InsideAlgorithm here(&entry_, 100'000);
    fault();
  };
  EXPECT_EXIT(
      die(), KilledBySignal(SIGSEGV),
      "unisono: rank 3 gets SIGSEGV inside allreduce:ring\\(segment=65536\\) \\(calls of up to 131072 "
      "bytes\\): later runs of 'solver' leave it out");
  const tuning::ReadCrashes read = recorded();
  ASSERT_EQ(read.crashes.size(), 1u);
  EXPECT_EQ(read.malformed, 0);
  const tuning::Crash& crash = read.crashes[0];
  EXPECT_EQ(crash.place, (tuning::CrashPlace{"solver", "a CPU", "an MPI", "1.2"}));
  EXPECT_EQ(crash.signal + " " + crash.operation + " " + crash.algorithm,
            "SIGSEGV allreduce ring(segment=65536)");
  EXPECT_EQ(crash.bytes, 131072);
  EXPECT_EQ(crash.rank, 3);
  EXPECT_GT(crash.time, 0);
}

TEST_F(CrashWatchTest, ABufferThatTheCallWasGivenIsTheProgramsFault) {
  constexpr std::size_t bytes = 8192;
  void* memory = ::mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto touch = [&](std::size_t offset) {
    without_handlers();
    begin();
    const Call call{.operation = Operation::allgather, .recv_buffer = static_cast<char*>(memory) + 4096};
    const InsideAlgorithm here(&entry_, bytes, {.call = &call, .ranks = 2});
    static_cast<volatile char*>(memory)[offset] = 1;
  };
  const char* own = "inside allreduce:ring.*the program's fault, and no algorithm is left out";
  EXPECT_EXIT(touch(4096), KilledBySignal(SIGSEGV), own);
  EXPECT_EXIT(touch(4096 + 2 * bytes - 1), KilledBySignal(SIGSEGV), own);
  EXPECT_TRUE(recorded().crashes.empty());
  EXPECT_EXIT(touch(4096 + 2 * bytes), KilledBySignal(SIGSEGV), "later runs of 'solver' leave it out");
  EXPECT_EQ(recorded().crashes.size(), 1u);
}

TEST_F(CrashWatchTest, EachSignalThatItKnows) {
  for (const auto& [number, name] :
       {std::pair{SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}) {
    const auto die = [&] {
      without_handlers();
      begin();
      const InsideAlgorithm here(&entry_, 8);
      if (number == SIGABRT) std::abort();
      ::raise(number);
    };
    EXPECT_EXIT(die(), KilledBySignal(number), std::string("rank 3 gets ") + name + " inside allreduce:ring");
    ASSERT_EQ(recorded().crashes.size(), 1u);
    EXPECT_EQ(recorded().crashes[0].signal, name);
    fs::remove(file());
  }
}

// Nothing is said: the whole of what it says is empty.
#define EXPECT_SILENT_DEATH(statement, predicate) EXPECT_EXIT(statement, predicate, "^$")

TEST_F(CrashWatchTest, ElsewhereItIsSilent) {
  const auto after_the_call = [&] {
    without_handlers();
    begin();
    { const InsideAlgorithm here(&entry_, 8); }
    fault();
  };
  EXPECT_SILENT_DEATH(after_the_call(), KilledBySignal(SIGSEGV));
  const auto in_an_operator = [&] {
    without_handlers();
    begin();
    const InsideAlgorithm here(&entry_, 8);
    const OutsideAlgorithms outside;
    fault();
  };
  EXPECT_SILENT_DEATH(in_an_operator(), KilledBySignal(SIGSEGV));
  const auto in_another_thread = [&] {
    without_handlers();
    begin();
    const InsideAlgorithm here(&entry_, 8);
    std::thread(fault).join();
  };
  EXPECT_SILENT_DEATH(in_another_thread(), KilledBySignal(SIGSEGV));
  const auto by_the_host = [&] {
    without_handlers();
    begin();
    const InsideAlgorithm here(&entry_, 8);
    const InsideHost host;
    std::abort();
  };
  EXPECT_SILENT_DEATH(by_the_host(), KilledBySignal(SIGABRT));
  const auto at_the_end = [&] {
    without_handlers();
    begin();
    end_crash_watch();
    const InsideAlgorithm here(&entry_, 8);
    fault();
  };
  EXPECT_SILENT_DEATH(at_the_end(), KilledBySignal(SIGSEGV));
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(CrashWatchTest, AFaultInsideTheHostIsTheAlgorithms) {
  const auto die = [&] {
    without_handlers();
    begin();
    const InsideAlgorithm here(&entry_, 8);
    const InsideHost host;
    fault();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGSEGV), "inside allreduce:ring");
}

TEST_F(CrashWatchTest, WhatOthersSendIsNoCrash) {
  const auto die = [&] {
    without_handlers();
    begin();
    const InsideAlgorithm here(&entry_, 8);
    const pid_t parent = ::getpid();
    if (::fork() == 0) {
      ::kill(parent, SIGABRT);
      ::_exit(0);
    }
    for (;;) ::pause();
  };
  EXPECT_SILENT_DEATH(die(), KilledBySignal(SIGABRT));
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(CrashWatchTest, AHandlerFromBeforeIsCalled) {
  const auto die = [&] {
    without_handlers();
    ::signal(SIGSEGV, [](int) {
      write_line("the program's\n");
      ::_exit(7);
    });
    begin();
    const InsideAlgorithm here(&entry_, 8);
    fault();
  };
  EXPECT_EXIT(die(), ExitedWithCode(7), "the program's");
  EXPECT_EQ(recorded().crashes.size(), 1u);
}

TEST_F(CrashWatchTest, AHandlerThatGivesUpEndsTheProcess) {
  // As Open MPI's does; it is to be called once.
  const auto die = [&](int flags) {
    without_handlers();
    const struct sigaction given = action_of(
        [](int number) {
          write_line("the MPI's\n");
          ::signal(number, SIG_DFL);
          ::raise(number);
        },
        flags);
    ::sigaction(SIGSEGV, &given, nullptr);
    begin();
    const InsideAlgorithm here(&entry_, 8);
    fault();
  };
  for (const int flags : {0, static_cast<int>(SA_RESETHAND), static_cast<int>(SA_NODEFER)}) {
    EXPECT_EXIT(die(flags), KilledBySignal(SIGSEGV), "the MPI's");
    EXPECT_EQ(recorded().crashes.size(), 1u);
    fs::remove(file());
  }
}

TEST_F(CrashWatchTest, AHandlerFromAfterwardsIsCalledAndMayHandBack) {
  static struct sigaction ours;
  const auto die = [&] {
    without_handlers();
    begin();
    const struct sigaction theirs = action_of([](int number) {
      write_line("came first; ");
      ::sigaction(number, &ours, nullptr);
    });
    ::sigaction(SIGSEGV, &theirs, &ours);
    const InsideAlgorithm here(&entry_, 8);
    fault();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGSEGV), "came first; unisono: rank 3 gets SIGSEGV");
  EXPECT_EQ(recorded().crashes.size(), 1u);
}

TEST_F(CrashWatchTest, AFaultThatIsAnsweredIsNoCrash) {
  const auto go_on = [&] {
    without_handlers();
    ::signal(SIGSEGV, [](int) { ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE); });
    begin();
    const InsideAlgorithm here(&entry_, 8);
    fault();
    fault();
    ::_exit(this_thread.site.inside.load()->entry == &entry_ ? 0 : 1);
  };
  EXPECT_SILENT_DEATH(go_on(), ExitedWithCode(0));
  EXPECT_TRUE(fs::exists(file()));
  EXPECT_TRUE(recorded().crashes.empty());
  EXPECT_EQ(recorded().malformed, 0);
}

TEST_F(CrashWatchTest, WhatIsIgnoredStaysIgnored) {
  const auto go_on = [&] {
    without_handlers();
    ::signal(SIGFPE, SIG_IGN);
    begin();
    const InsideAlgorithm here(&entry_, 8);
    ::raise(SIGFPE);
    struct sigaction now {};
    ::sigaction(SIGFPE, nullptr, &now);
    ::_exit(now.sa_handler == SIG_IGN ? 0 : 1);
  };
  EXPECT_SILENT_DEATH(go_on(), ExitedWithCode(0));
}

TEST_F(CrashWatchTest, TheEndPutsBackWhatWasThere) {
  const auto go_on = [&] {
    without_handlers();
    const auto handler = [](int) {};
    const struct sigaction theirs = action_of(handler), later = action_of([](int) {});
    ::sigaction(SIGSEGV, &theirs, nullptr);
    begin();
    ::sigaction(SIGBUS, &later, nullptr);
    end_crash_watch();
    struct sigaction now {};
    bool is_right = ::sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_handler == theirs.sa_handler;
    is_right = is_right && ::sigaction(SIGBUS, nullptr, &now) == 0 && now.sa_handler == later.sa_handler;
    is_right = is_right && ::sigaction(SIGABRT, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
    ::_exit(is_right ? 0 : 1);
  };
  EXPECT_EXIT(go_on(), ExitedWithCode(0), "");
}

// Far deeper than any stack.
int go_down(volatile int* level) {
  volatile int next[1024] = {*level + 1};
  return next[0] > 1'000'000'000 ? 0 : go_down(next) + next[0];
}

TEST_F(CrashWatchTest, WhereTheStackIsFullAnotherOneServes) {
  const auto die = [&] {
    without_handlers();
    begin();
    std::thread([&] {
      constexpr std::size_t stack_bytes = 64 << 10;
      const stack_t own = {.ss_sp = std::malloc(stack_bytes), .ss_flags = 0, .ss_size = stack_bytes};
      ::sigaltstack(&own, nullptr);
      const InsideAlgorithm here(&entry_, 8);
      volatile int level = 0;
      go_down(&level);
    }).join();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGSEGV), "rank 3 gets SIGSEGV inside allreduce:ring");
}

TEST_F(CrashWatchTest, ThreadsThatDieTogetherLeaveOneRecord) {
  const auto die = [&] {
    without_handlers();
    begin();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const InsideAlgorithm here(&entry_, 8);
        fault();
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EXIT(die(), KilledBySignal(SIGSEGV), "inside allreduce:ring");
    const std::string text = file_text(file()).value_or("");
    EXPECT_EQ(std::ranges::count(text, '\n'), i + 1) << text;
  }
}

TEST_F(CrashWatchTest, QuietRecordsWithoutAWord) {
  const auto die = [&] {
    without_handlers();
    begin(false);
    const InsideAlgorithm here(&entry_, 8);
    fault();
  };
  EXPECT_SILENT_DEATH(die(), KilledBySignal(SIGSEGV));
  EXPECT_EQ(recorded().crashes.size(), 1u);
}

TEST_F(CrashWatchTest, WithoutAPlaceItSaysSo) {
  const auto die = [&] {
    without_handlers();
    begin_crash_watch({.known = {.rank = 1}});
    const InsideAlgorithm here(&entry_, -1);
    fault();
  };
  EXPECT_EXIT(die(), KilledBySignal(SIGSEGV),
              "inside allreduce:ring\\(segment=65536\\); there is no cache directory");
}

}  // namespace
}  // namespace unisono::runtime::crash_watch_test
