// SPDX-License-Identifier: BSD-3-Clause
// What the exec shim wants to know of files before it starts a program.
#pragma once

#include <stddef.h>

enum UnisonoFileKind {
  unisono_file_unreadable,     // errno says why
  unisono_file_no_elf,         // a script, or something that the system will refuse
  unisono_file_other_machine,  // ELF for another architecture than this program's
  unisono_file_static,         // ELF that no dynamic loader starts
  unisono_file_dynamic         // ELF that a dynamic loader starts, or a shared library
};

enum UnisonoFileKind unisono_look_at_program(const char* path);
// A library needs no loader of its own: never unisono_file_static.
enum UnisonoFileKind unisono_look_at_library(const char* path);

// Does the system start this file with other rights than the caller's (set-user-id, set-group-id, file
// capabilities)? The dynamic loader then ignores what is to be preloaded.
int unisono_has_own_rights(const char* path);

// Finds the file that execvp would start. Returns 0, or an errno value.
int unisono_find_program(const char* name, char* path, size_t room);
