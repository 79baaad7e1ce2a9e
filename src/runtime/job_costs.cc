// SPDX-License-Identifier: BSD-3-Clause
// What the operations on a node's shared memory cost, measured on a communicator's own slice (A9).
#include "runtime/job.h"

namespace unisono::runtime {

double Job::operation_time(host::Comm handle, const shm::Measurement& measurement,
                           std::optional<shm::WaitPolicy> wait) {
  Communicator* c = find(handle);
  if (c->slice == nullptr) return -1;
  const shm::WaitConfig usual = c->slice->wait_config();
  if (wait) {
    shm::WaitConfig other = usual;
    other.policy = *wait;
    c->slice->set_wait_config(other);
  }
  const double seconds = shm::measure(*c->slice, measurement);
  if (wait) c->slice->set_wait_config(usual);
  return seconds;
}

}  // namespace unisono::runtime
