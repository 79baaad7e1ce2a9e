// SPDX-License-Identifier: BSD-3-Clause
// Calls with buffers in the memory of GPUs, which the host cannot read: Unisono works on copies of them. Each
// process decides it for itself, since no other knows where this one's buffers are.
// docs/guide/device-memory.md.
#pragma once

#include <functional>
#include <memory>

#include "adapter/below/gpu.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

class StagedCall : public runtime::Staging {
 public:
  // The program's call on copies.
  const runtime::Call& call() const { return call_; }
  // The host has made the call: what it has written into the program's memory.
  virtual int fetch_written() = 0;

 protected:
  explicit StagedCall(const runtime::Call& call) : call_(call) { call_.staging = this; }
  runtime::Call call_;
};

// Null where the host can read all that the call works in, or where only the MPI can say what is wrong. It
// must live until the call is over, and so must the datatypes.
std::unique_ptr<StagedCall> stage(const runtime::Call& call);

// The same where the process has GPUs at all.
inline std::unique_ptr<StagedCall> stage_if_needed(const runtime::Call& call) {
  return has_gpus() ? stage(call) : nullptr;
}

// A blocking call. `native_call`: the program's, by the host.
int run_staged(StagedCall& staged, const std::function<int()>& native_call);

}  // namespace unisono::adapter
