// SPDX-License-Identifier: BSD-3-Clause
// A command that runs beside the job and ends with it: it gets nothing of what the terminal sends, and what
// it says is kept. It reads a pipe of ours, at whose other end nothing is left when we are gone.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include "launch/words.h"

namespace unisono::front {

class Companion {
 public:
  // Called where the command could not be started or does not end well before the job. What it returns is
  // started in its place.
  using OnFailure = std::function<std::optional<launch::Words>(const std::string& how)>;
  // Asked now and then while it runs: why it serves no more, although it has not ended; empty: it does. Then
  // it is ended as what has failed.
  using Judge = std::function<std::string()>;
  Companion(launch::Words words, OnFailure on_failure, Judge judge);
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  void start(const sigset_t& signals);
  // Has it ended? After each SIGCHLD, and when so much time has passed as the last one said, if it did.
  std::optional<timespec> look();
  // Tells it to end, and sees to it that it does. SIGCHLD is blocked.
  void end();
  // What it has said so far since it was last started, but for what is longer than all that anybody reads.
  std::string said() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool is_running() const { return process_ > 0; }
  bool has_ended_within(int milliseconds);
  void start();
  void take(int status);
  void look_at_life();
  void fail(const std::string& how);
  void close_input();

  launch::Words words_;
  OnFailure on_failure_;
  Judge judge_;
  sigset_t signals_{};
  Clock::time_point started_;
  bool is_due_ = false;  // to be started again
  // Why it serves no more, since when that is known, and the last signal that it was sent for it.
  std::string what_is_wrong_;
  Clock::time_point wrong_since_;
  int sent_ = 0;
  int process_ = -1;
  int input_ = -1;   // our end of what it reads
  int output_ = -1;  // a file without a name
  bool is_ending_ = false;
};

}  // namespace unisono::front
