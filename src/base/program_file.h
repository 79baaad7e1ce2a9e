// SPDX-License-Identifier: BSD-3-Clause
// What is to be known of a program's file before it is started.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum UnisonoFileKind {
  unisono_file_unreadable,     // errno says why
  unisono_file_no_elf,         // a script, or what the system will refuse
  unisono_file_other_machine,  // for another architecture
  unisono_file_static,         // no dynamic loader starts it
  unisono_file_dynamic         // one does, or it is a shared library
};

enum UnisonoFileKind unisono_look_at_program(const char* path);
// A library needs no loader of its own: never unisono_file_static.
enum UnisonoFileKind unisono_look_at_library(const char* path);

// Does the system start this file with other rights than the caller's (set-user-id, set-group-id, file
// capabilities)? The dynamic loader then ignores what is to be preloaded.
int unisono_has_own_rights(const char* path);

// Finds the file that execvp would start. Returns 0, or an errno value.
int unisono_find_program(const char* name, char* path, size_t room);

// Why nothing can be preloaded into this program, as a clause about it; null where it can.
const char* unisono_obstacle(const char* path);

#ifdef __cplusplus
}
#endif
