// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/message_calls.h"

#include <dlfcn.h>

#include <string>

#include "adapter/messages/layer.h"

namespace unisono::adapter::messages {

void add_wrappers(UnisonoFunction* functions, StartBoth start_both) {
  UnisonoFunction wrappers[unisono_slot_count] = {};
  add_sends(wrappers);
  add_receives(wrappers);
  add_both_ways(wrappers, start_both);
  add_probes(wrappers);
  const bool is_used = is_wanted();
  add_buffers(wrappers);
  add_conversions(wrappers);
  // Where messages are the MPI's its own functions are called without a detour. What it lacks (functions
  // for large counts) is made of what it has.
#define UNISONO_ADD(name)                                                                       \
  {                                                                                             \
    const auto of_host = reinterpret_cast<UnisonoFunction>(dlsym(pmpi.library, "PMPI_" #name)); \
    UnisonoFunction wrapper = wrappers[unisono_slot_##name];                                    \
    const bool is_hosts = wrapper == nullptr || (!is_used && of_host != nullptr);               \
    functions[unisono_slot_##name] = is_hosts ? of_host : wrapper;                              \
  }
  UNISONO_MESSAGE_NAMES(UNISONO_ADD)
#undef UNISONO_ADD
  if (pmpi.Buffer_flush != nullptr) return;
  // To flush a buffer one must know whether there is one.
  for (int slot : {unisono_slot_Buffer_attach, unisono_slot_Buffer_attach_c, unisono_slot_Buffer_detach,
                   unisono_slot_Buffer_detach_c})
    functions[slot] = wrappers[slot];
}

}  // namespace unisono::adapter::messages
