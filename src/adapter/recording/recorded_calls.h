// SPDX-License-Identifier: BSD-3-Clause
// The functions that are recorded, in front of those that they stand for.
#pragma once

#include "preload/adapter_library.h"

namespace unisono::adapter::recording {

// What was in each slot before.
extern UnisonoFunction below[unisono_slot_count];

// Each puts some functions in, where there is one to stand for.
void add_messages(UnisonoFunction* functions);
void add_requests(UnisonoFunction* functions);
void add_handles(UnisonoFunction* functions);  // communicators and types

template <int slot, class Function>
Function under(Function) {
  return reinterpret_cast<Function>(below[slot]);
}
inline void put(UnisonoFunction* functions, int slot, UnisonoFunction wrapper) {
  if (functions[slot] == nullptr) return;
  below[slot] = functions[slot];
  functions[slot] = wrapper;
}

}  // namespace unisono::adapter::recording
