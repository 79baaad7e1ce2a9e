// SPDX-License-Identifier: BSD-3-Clause
#include "front/companion.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "front/child.h"

namespace unisono::front {
namespace {

// An orderly end first; launchers then take their time to end what they have started.
constexpr int own_end_ms = 1500, terminated_ms = 4000;
// Whatever fails at once does so not more often.
constexpr auto shortest_life = std::chrono::milliseconds(500);
// Of one that serves no more: by itself, and then after SIGTERM.
constexpr auto end_after_failure = std::chrono::milliseconds(500),
               end_after_term = std::chrono::milliseconds(1000);
constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 100'000'000};
// While it starts there is more to see.
constexpr auto start_time = std::chrono::seconds(5);
constexpr timespec between_first_looks{.tv_sec = 0, .tv_nsec = 20'000'000};
constexpr std::size_t most_said_bytes = std::size_t{1} << 16;

}  // namespace

Companion::Companion(launch::Words words, OnFailure on_failure, Judge judge)
    : words_(std::move(words)), on_failure_(std::move(on_failure)), judge_(std::move(judge)) {}

Companion::~Companion() {
  end();
  if (output_ >= 0) ::close(output_);
}

void Companion::start(const sigset_t& signals) {
  signals_ = signals;
  start();
}

void Companion::start() {
  started_ = Clock::now();
  is_due_ = false;
  what_is_wrong_.clear();
  sent_ = 0;
  int input[2];
  if (::pipe2(input, O_CLOEXEC) != 0) return fail(::strerror(errno));
  input_ = input[1];
  if (output_ >= 0) ::close(output_);
  output_ = ::memfd_create("unisono-said", MFD_CLOEXEC);
  if (output_ >= 0) ::fcntl(output_, F_SETFL, O_APPEND);
  const Child child =
      front::start(words_, {.signals = signals_, .input = input[0], .output = output_, .is_apart = true});
  ::close(input[0]);
  process_ = child.failure == 0 ? child.process : -1;
  if (child.failure == 0) return;
  close_input();
  fail(words_[0] + ": " + ::strerror(child.failure));
}

void Companion::fail(const std::string& how) {
  auto again = on_failure_(how);
  if (!again) return;
  words_ = std::move(*again);
  is_due_ = true;
}

void Companion::take(int status) {
  process_ = -1;
  close_input();
  if (is_ending_ || status == 0) return;
  if (sent_ != 0) return fail(what_is_wrong_ + ", and " + words_[0] + " did not end");
  fail(WIFSIGNALED(status) ? words_[0] + " was killed by signal " + std::to_string(WTERMSIG(status))
                           : words_[0] + " ended with status " + std::to_string(WEXITSTATUS(status)));
}

// A launcher may stand still although what it has started is gone.
void Companion::look_at_life() {
  if (sent_ == 0) {
    const bool was_wrong = !what_is_wrong_.empty();
    what_is_wrong_ = judge_();
    if (what_is_wrong_.empty()) return;
    if (!was_wrong) wrong_since_ = Clock::now();
  }
  const auto longest = sent_ == 0 ? end_after_failure : end_after_term;
  if (Clock::now() - wrong_since_ < longest || sent_ == SIGKILL) return;
  sent_ = sent_ == 0 ? SIGTERM : SIGKILL;
  ::kill(sent_ == SIGTERM ? process_ : -process_, sent_);
  wrong_since_ = Clock::now();
}

std::optional<timespec> Companion::look() {
  int status = 0;
  if (is_running() && ::waitpid(process_, &status, WNOHANG) == process_) take(status);
  if (is_ending_) return std::nullopt;
  if (is_running()) {
    look_at_life();
    return Clock::now() - started_ < start_time ? between_first_looks : between_looks;
  }
  if (!is_due_) return std::nullopt;
  const auto left = std::chrono::nanoseconds(started_ + shortest_life - Clock::now()).count();
  if (left > 0) return timespec{left / 1'000'000'000, left % 1'000'000'000};
  start();
  return is_due_ ? std::optional(timespec{0, 1'000'000}) : std::optional(between_first_looks);
}

bool Companion::has_ended_within(int milliseconds) {
  sigset_t ended;
  ::sigemptyset(&ended);
  ::sigaddset(&ended, SIGCHLD);
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (look(); is_running(); look()) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
    ::sigtimedwait(&ended, nullptr, &wait);
  }
  return true;
}

void Companion::close_input() {
  if (input_ < 0) return;
  ::close(input_);
  input_ = -1;
}

void Companion::end() {
  is_ending_ = true;
  if (!is_running()) return;
  // Who has gone already reads nothing: that is no reason to end.
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  if (::write(input_, "end\n", 4) < 0) close_input();
  ::signal(SIGPIPE, before);
  close_input();
  if (has_ended_within(own_end_ms)) return;
  ::kill(process_, SIGTERM);
  if (has_ended_within(terminated_ms)) return;
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

std::string Companion::said() const {
  std::string text(most_said_bytes, '\0');
  const ssize_t count = output_ < 0 ? 0 : ::pread(output_, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace unisono::front
