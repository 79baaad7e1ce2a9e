// SPDX-License-Identifier: BSD-3-Clause
// What ends a command before anything has been started: what is wrong and what to do, and an exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace unisono::launch {

inline constexpr int failure_status = 1;
inline constexpr int usage_status = 2;
inline constexpr int not_executable_status = 126;  // as shells have it
inline constexpr int not_found_status = 127;

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int status = failure_status)
      : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// The command line asks for something that cannot be.
struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(message, usage_status) {}
};

}  // namespace unisono::launch
