// SPDX-License-Identifier: BSD-3-Clause
// Lists of cores by the system's numbers: "3,8-11".
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Is it such a list, of cores that any system may have?
int unisono_is_core_list(const char* list);

// The calling thread runs on these cores alone from now on, and so do the threads that it makes. Returns 0,
// or an errno value: EINVAL also where none of the cores is there.
int unisono_bind_to_cores(const char* list);

#ifdef __cplusplus
}
#endif
