// SPDX-License-Identifier: BSD-3-Clause
// Whose calls reach us: the program's, or those of work of ours; and whether Unisono takes any at the moment.
#pragma once

#include <atomic>

namespace unisono::adapter {

// Calls that reach us while this thread does work of ours are the host's own (it calls MPI_ names itself):
// the host serves them. What the host does for the program is not among it: error handlers run there, whose
// calls are the program's like any other. The adapter is opened late, and the model must cost no call.
extern __thread int nesting __attribute__((tls_model("initial-exec")));

class Nested {
 public:
  Nested() { ++nesting; }
  ~Nested() { --nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

// In between: functions of the program are called. Where one leaves by longjmp all work of ours is left.
class Outside {
 public:
  Outside() : before_(nesting) { nesting = 0; }
  ~Outside() { nesting = before_; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  int before_;
};

// Started, not finished, and enabled.
extern std::atomic<bool> is_open;

inline bool is_taking() {
  return is_open.load(std::memory_order_relaxed) && nesting == 0;
}

}  // namespace unisono::adapter
