// SPDX-License-Identifier: BSD-3-Clause
#include "front/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launch/errors.h"

extern char** environ;

namespace unisono::front {
namespace {

// What somebody may send to us and means for the job. (The terminal's own reach the launcher by themselves.)
constexpr int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::vector<char*> arguments_of(const launch::Words& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

launch::Error cannot_start(const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR)
    return launch::Error(name + ": not found; is it in PATH?", launch::not_found_status);
  return launch::Error(name + ": " + std::strerror(error), launch::not_executable_status);
}

struct Child {
  pid_t process;
  int failure;  // an errno value: it could not be started
};

// The child ends with us: if we are killed outright, the job must not live on without anybody who could end
// it.
Child start(const launch::Words& words, const sigset_t& signals) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return {-1, errno};
  const std::vector<char*> arguments = arguments_of(words);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) return {-1, errno};
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::sigprocmask(SIG_SETMASK, &signals, nullptr);
    ::execvp(arguments[0], arguments.data());
    const int error = errno;
    if (::write(report[1], &error, sizeof error) < 0) ::_exit(2);
    ::_exit(1);
  }
  ::close(report[1]);
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  if (count == sizeof error) ::waitpid(child, nullptr, 0);
  return {child, count == sizeof error ? error : 0};
}

}  // namespace

void replace(const launch::Words& words) {
  std::fflush(nullptr);
  ::execvp(words[0].c_str(), arguments_of(words).data());
  throw cannot_start(words[0], errno);
}

Outcome supervise(const launch::Words& words) {
  std::fflush(nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, no status can be had
  sigset_t watched, before;
  ::sigemptyset(&watched);
  for (const int number : forwarded) ::sigaddset(&watched, number);
  ::sigaddset(&watched, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  const Child child = start(words, before);
  if (child.failure != 0) throw cannot_start(words[0], child.failure);
  Outcome outcome{0, 0, 0};
  int status = 0;
  while (::waitpid(child.process, &status, WNOHANG) == 0) {
    siginfo_t received{};
    const int number = ::sigwaitinfo(&watched, &received);
    if (number < 0 || number == SIGCHLD) continue;
    outcome.received = number;
    if (received.si_code != SI_KERNEL) ::kill(child.process, number);
  }
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
      ::posix_spawnp(&process, words[0].c_str(), &actions, nullptr, arguments_of(words).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0) return -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace unisono::front
