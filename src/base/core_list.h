// SPDX-License-Identifier: BSD-3-Clause
// Lists of cores by the system's numbers: "3,8-11".
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Reads such a list into a cpu_set_t, which takes no core behind its last one. Returns the highest core that
// is named; -1: it is no such list.
long unisono_read_core_list(const char* list, void* cores);

// Is it such a list, of cores that any system may have?
int unisono_is_core_list(const char* list);

// The calling thread runs on these cores alone from now on, and so do the threads that it makes. Returns 0,
// or an errno value: EINVAL also where none of the cores is there.
int unisono_bind_to_cores(const char* list);

// Those that the calling thread may be bound to, as such a list, as far as there is room.
void unisono_usable_cores(char* list, unsigned long size);

// Why an agent cannot run there: unisono_bind_to_cores() has returned this error.
void unisono_why_not_on_cores(const char* list, int error, char* text, unsigned long size);

#ifdef __cplusplus
}
#endif
