// SPDX-License-Identifier: BSD-3-Clause
#include "launch/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

extern char** environ;

namespace unisono::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{1} << 20;

struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  void close_end(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends;
};

// Reads what both have until they end. False: time is up.
bool read_all(Pipe& output, Pipe& errors, Answer& answer, Clock::time_point end) {
  while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched[] = {{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}};
    if (::poll(watched, 2, static_cast<int>(left)) < 0 && errno != EINTR) return false;
    for (int i = 0; i < 2; ++i) {
      if (watched[i].revents == 0) continue;
      Pipe& pipe = i == 0 ? output : errors;
      std::string& text = i == 0 ? answer.output : answer.errors;
      char buffer[4096];
      const ssize_t count = ::read(pipe.ends[0], buffer, sizeof buffer);
      if (count > 0 && text.size() < most_bytes) text.append(buffer, static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) pipe.close_end(0);
    }
  }
  return true;
}

}  // namespace

Answer answer_of(const Words& words, std::chrono::milliseconds most) {
  Answer answer;
  Pipe output, errors;
  if (words.empty() || output.ends[1] < 0 || errors.ends[1] < 0) return answer;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.ends[1], 2);
  pid_t process = -1;
  const int failed = ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return answer;
  output.close_end(1);
  errors.close_end(1);
  const bool is_whole = read_all(output, errors, answer, Clock::now() + most);
  if (!is_whole) ::kill(process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_whole) answer.status = status;
  return answer;
}

}  // namespace unisono::launch
