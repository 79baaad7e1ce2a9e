// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/calls/operation_time.h"

namespace unisono::runtime {

double operation_time(Communicators& communicators, host::Comm handle, const shm::Measurement& measurement,
                      std::optional<shm::WaitPolicy> wait) {
  Communicator* c = communicators.find(handle);
  if (c->node.slice == nullptr) return -1;
  const shm::WaitConfig usual = c->node.slice->wait_config();
  if (wait) {
    shm::WaitConfig other = usual;
    other.policy = *wait;
    c->node.slice->set_wait_config(other);
  }
  const double seconds = shm::measure(*c->node.slice, measurement);
  if (wait) c->node.slice->set_wait_config(usual);
  return seconds;
}

}  // namespace unisono::runtime
