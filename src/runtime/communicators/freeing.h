// SPDX-License-Identifier: BSD-3-Clause
// The communicators that the host is freeing for this thread. Delete callbacks of their attributes may use
// them like any other, but the attributes cannot be asked or set meanwhile: the host takes them apart.
#pragma once

#include <cstdint>
#include <memory>

#include "host/host.h"
#include "runtime/communicators/communicator.h"

namespace unisono::runtime {

class Communicators;

struct Freeing {
  host::Comm handle{};
  std::uintptr_t marks = 0;              // what the adapter had in an attribute
  const Communicators* table = nullptr;  // which has left `state` to this entry; null: none yet
  std::unique_ptr<Communicator> state;   // null: no call has come on it
};

// Null: it is not being freed. Callbacks may free others meanwhile, which ends the address.
Freeing* find_freeing(host::Comm handle);
// Makes an entry where there is none.
Freeing& freeing_of(host::Comm handle);
void forget_freeing(host::Comm handle);

}  // namespace unisono::runtime
