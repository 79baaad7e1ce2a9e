// SPDX-License-Identifier: BSD-3-Clause
// What says on a host that no agents of a job come, or come any more: who starts them holds it up, and ranks
// that wait for them see it. It is an abstract socket beside those where agents are met (meeting.h).
#pragma once

#include <memory>
#include <string>

namespace unisono::agents {

class Absence {
 public:
  // Holds until this ends. Null where it cannot be said.
  static std::unique_ptr<Absence> say(const std::string& job);
  ~Absence();
  Absence(const Absence&) = delete;
  Absence& operator=(const Absence&) = delete;

  // Does anybody of this user say so here? Two system calls.
  static bool is_said(const std::string& job);

 private:
  explicit Absence(int socket) : socket_(socket) {}

  const int socket_;
};

}  // namespace unisono::agents
