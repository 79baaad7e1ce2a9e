// SPDX-License-Identifier: BSD-3-Clause
// A command that runs beside the job and ends with it: it gets nothing of what the terminal sends, and what
// it says is kept. It reads a pipe of ours, at whose other end nothing is left when we are gone.
#pragma once

#include <csignal>
#include <functional>
#include <string>

#include "launch/words.h"

namespace unisono::front {

class Companion {
 public:
  // `on_failure` is called once, where the command could not be started or does not end well before the job.
  Companion(launch::Words words, std::function<void(const std::string& how)> on_failure);
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  void start(const sigset_t& signals);
  // Has it ended? After each SIGCHLD.
  void look();
  // Tells it to end, and sees to it that it does. SIGCHLD is blocked.
  void end();
  // What it has said so far, but for what is longer than all that anybody reads.
  std::string said() const;

 private:
  bool is_running() const { return process_ > 0; }
  bool has_ended_within(int milliseconds);
  void take(int status);
  void close_input();

  launch::Words words_;
  std::function<void(const std::string&)> on_failure_;
  int process_ = -1;
  int input_ = -1;   // our end of what it reads
  int output_ = -1;  // a file without a name
  bool is_ending_ = false;
};

}  // namespace unisono::front
