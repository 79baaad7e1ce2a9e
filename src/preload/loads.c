// SPDX-License-Identifier: BSD-3-Clause
// See loads.S.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "preload/error_message.h"
#include "preload/resolve.h"

static unsigned char nobody_looks;
unsigned char* volatile unisono_load_flag = &nobody_looks;
unsigned char* volatile unisono_other_load_flag = &nobody_looks;

static void watch(unsigned char* volatile* place, unsigned char* flag) {
  if (flag == NULL) return;
  *place = flag;
  *(volatile unsigned char*)flag = 1;  // what was loaded meanwhile
}

void unisono_watch_loads(unsigned char* flag, unsigned char* other) {
  watch(&unisono_load_flag, flag);
  watch(&unisono_other_load_flag, other);
}

__attribute__((visibility("hidden"))) void* unisono_find_next_dlopen(void) {
  void* next = dlsym(RTLD_NEXT, "dlopen");
  if (next == NULL) {
    unisono_say("the C library's dlopen is not to be found");
    abort();
  }
  return next;
}
