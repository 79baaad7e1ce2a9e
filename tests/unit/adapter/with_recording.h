// SPDX-License-Identifier: BSD-3-Clause
// Tests of wrappers over a runtime that only records what it is asked for.
#pragma once

#include <gtest/gtest.h>

#include "recording_runtime.h"

namespace unisono::adapter {

class WithRecording : public testing::Test {
 protected:
  void SetUp() override { recording.reset(); }

  // The one call that the runtime has seen since SetUp.
  static const runtime::Call& only_call() {
    EXPECT_EQ(recording.calls.size(), 1u);
    static const runtime::Call none;
    return recording.calls.empty() ? none : recording.calls.back();
  }

  int in[4] = {1, 2, 3, 4};
  int out[4] = {0, 0, 0, 0};
};

}  // namespace unisono::adapter
