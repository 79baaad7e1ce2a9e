// SPDX-License-Identifier: BSD-3-Clause
// How a slot finds its function.
#pragma once

#include "preload/adapter_library.h"

// The jump table (stubs.S): the slots of the PMPI_ names, then in the same order those of the MPI_ names.
extern UnisonoFunction unisono_slots[2 * unisono_slot_count];

// Where a call through a place of the table goes. `caller` is an address in the code that calls. Fills the
// table when the process's MPI is known. Ends the process with a message where there is nothing to call.
UnisonoFunction unisono_resolve(unsigned long place, const void* caller);

// The host MPI's own function for `slot` as code at `caller` would reach it without Unisono; null where there
// is none.
UnisonoFunction unisono_host_function(int slot, const void* caller);
// The same for any function of the MPI, by its PMPI_ name.
UnisonoFunction unisono_host_function_named(const char* name, const void* caller);

// The adapter, null as long as none is open.
const struct UnisonoAdapter* unisono_open_adapter_or_null(void);

// Tells a newly opened adapter what unisono_set_enabled was told before (control.c).
void unisono_pass_on_setting(const struct UnisonoAdapter* adapter);

// From now on both variables are set to 1 whenever the process loads a library (loads.S). Null: that one is
// not.
void unisono_watch_loads(unsigned char* flag, unsigned char* other);

// Ends the process: `name` was called and there is no such function.
__attribute__((noreturn)) void unisono_no_function(const char* name, const char* why);

// Stand-ins for a large-count function that the host MPI lacks while no adapter is there: they call the
// small-count function (narrow.c, narrow_blocks.c). Null for slots that have none.
UnisonoFunction unisono_narrowing(int slot);
UnisonoFunction unisono_narrowing_of_blocks(int slot);
