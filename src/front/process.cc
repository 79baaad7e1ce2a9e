// SPDX-License-Identifier: BSD-3-Clause
#include "front/process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "front/child.h"
#include "launch/errors.h"

extern char** environ;

namespace unisono::front {
namespace {

// What somebody may send to us and means for the job. (The terminal's own reach the launcher by themselves.)
constexpr int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

launch::Error cannot_start(const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR)
    return launch::Error(name + ": not found; is it in PATH?", launch::not_found_status);
  return launch::Error(name + ": " + std::strerror(error), launch::not_executable_status);
}

}  // namespace

void replace(const launch::Words& words) {
  std::fflush(nullptr);
  ::execvp(words[0].c_str(), pointers_to(words).data());
  throw cannot_start(words[0], errno);
}

Outcome supervise(const launch::Words& words, Companion* beside) {
  std::fflush(nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, no status can be had
  sigset_t watched, before;
  ::sigemptyset(&watched);
  for (const int number : forwarded) ::sigaddset(&watched, number);
  ::sigaddset(&watched, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  if (beside != nullptr) beside->start(before);
  const Child child = start(words, {.signals = before});
  if (child.failure != 0) throw cannot_start(words[0], child.failure);
  Outcome outcome{0, 0, 0};
  int status = 0;
  while (::waitpid(child.process, &status, WNOHANG) == 0) {
    const auto longest = beside != nullptr ? beside->look() : std::nullopt;
    siginfo_t received{};
    const int number = ::sigtimedwait(&watched, &received, longest ? &*longest : nullptr);
    if (number < 0 || number == SIGCHLD) continue;
    outcome.received = number;
    if (received.si_code != SI_KERNEL) ::kill(child.process, number);
  }
  if (beside != nullptr) beside->end();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  outcome.killed = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.status = outcome.killed != 0 ? 128 + outcome.killed : WEXITSTATUS(status);
  return outcome;
}

int run_beside(const launch::Words& words, int output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  pid_t process = -1;
  const int failed =
      ::posix_spawnp(&process, words[0].c_str(), &actions, nullptr, pointers_to(words).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0) return -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace unisono::front
