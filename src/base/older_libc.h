// SPDX-License-Identifier: BSD-3-Clause
// What base/older_libc.c does where the C library is older than 2.35.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#ifdef __cplusplus
extern "C" {
#endif
// The object around an address and its table of exception frames, as _dl_find_object finds them: 0, or -1.
int unisono_find_object_by_headers(void* address, struct dl_find_object* found);
#ifdef __cplusplus
}
#endif
#endif
