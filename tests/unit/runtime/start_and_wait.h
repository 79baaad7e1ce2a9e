// SPDX-License-Identifier: BSD-3-Clause
// A call that does not block, waited for at once.
#pragma once

#include <thread>

#include "runtime/job.h"

namespace unisono::runtime {

inline Outcome start_and_wait(Job& job, const Call& call, int* error) {
  struct Ended {
    int error = 0;
    bool is_true = false;
  } ended;
  const Completion completion{[](void* context, int code) {
                                *static_cast<Ended*>(context) = {code, true};
                              },
                              &ended};
  const Outcome outcome = job.start(call, completion);
  while (outcome == Outcome::done && !ended.is_true) {
    job.make_progress();
    std::this_thread::yield();
  }
  *error = ended.error;
  return outcome;
}

}  // namespace unisono::runtime
