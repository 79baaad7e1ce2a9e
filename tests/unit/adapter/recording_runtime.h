// SPDX-License-Identifier: BSD-3-Clause
// A runtime that notes what the wrappers tell it and answers as a test asks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/runtime.h"

struct Recording {
  std::vector<unisono::runtime::Call> calls;
  std::vector<double> native_seconds;
  std::vector<unisono::runtime::Completion> completions;  // of calls that do not block
  std::vector<unisono::host::Comm> made;
  std::vector<unisono::host::Comm> ended;
  std::map<unisono::host::Comm, std::uintptr_t> marks;  // of those that are being freed
  std::vector<unisono::host::Comm> refused;             // persistent calls on them
  std::vector<bool> freed;                              // of those: has the host freed it?
  std::vector<unisono::runtime::Call> parts;            // taken beside what the host refused
  bool has_calls_under_way = false;
  bool leaves_to_host = false;
  std::vector<unisono::runtime::Reduced> reduced;
  std::vector<unisono::runtime::NativeReason>
      left;  // calls that no other function was told of  // asked about
  int progress_count = 0;
  std::function<void()> while_progressing = [] {};
  int starts = 0;
  int finishes = 0;
  int comparisons = 0;
  bool is_enabled = true;
  std::string algorithm;             // as set_algorithm() was told last
  std::vector<std::string> regions;  // begun; empty text: one was ended

  unisono::runtime::Outcome outcome = unisono::runtime::Outcome::native;
  unisono::runtime::HostPart host_part;  // of the last call that is compared
  int error = 0;
  std::function<void()> while_called = [] {};
  unisono::host::Host* host = nullptr;

  // Forgets the calls and answers `native` again.
  void reset();
};

extern Recording recording;
