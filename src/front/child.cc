// SPDX-License-Identifier: BSD-3-Clause
#include "front/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace unisono::front {
namespace {

[[noreturn]] void become(char* const* arguments, const ChildSettings& settings, pid_t parent, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  if (settings.is_apart) ::setpgid(0, 0);
  if (settings.input >= 0) ::dup2(settings.input, STDIN_FILENO);
  if (settings.output >= 0) {
    ::dup2(settings.output, STDOUT_FILENO);
    ::dup2(settings.output, STDERR_FILENO);
  }
  ::sigprocmask(SIG_SETMASK, &settings.signals, nullptr);
  ::execvp(arguments[0], arguments);
  const int error = errno;
  if (::write(report, &error, sizeof error) < 0) ::_exit(2);
  ::_exit(1);
}

}  // namespace

std::vector<char*> pointers_to(const launch::Words& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Child start(const launch::Words& words, const ChildSettings& settings) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return {-1, errno};
  const std::vector<char*> arguments = pointers_to(words);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) return {-1, errno};
  if (child == 0) become(arguments.data(), settings, parent, report[1]);
  ::close(report[1]);
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  if (count == sizeof error) ::waitpid(child, nullptr, 0);
  return {child, count == sizeof error ? error : 0};
}

}  // namespace unisono::front
