// SPDX-License-Identifier: BSD-3-Clause
#include "recording_runtime.h"

Recording recording;

void Recording::reset() {
  calls.clear();
  native_seconds.clear();
  outcome = unisono::runtime::Outcome::native;
  error = 0;
  while_called = [] {};
}

namespace unisono::runtime {

void start(host::Host& host) {
  ++recording.starts;
  recording.host = &host;
}

bool is_running() {
  return recording.starts > recording.finishes;
}

Outcome collective(const Call& call, int* error) {
  recording.calls.push_back(call);
  recording.while_called();
  *error = recording.error;
  return recording.outcome;
}

void native_finished(const Call&, double seconds) {
  recording.native_seconds.push_back(seconds);
}

void set_enabled(bool is_enabled) {
  recording.is_enabled = is_enabled;
}

void finish() {
  ++recording.finishes;
}

}  // namespace unisono::runtime
