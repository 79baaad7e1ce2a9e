// SPDX-License-Identifier: BSD-3-Clause
// Messages on standard error of the two programs here that have no C++ runtime. Each is one line "unisono:
// ..." and one write, so that lines of many processes do not mix.
#pragma once

#include <stddef.h>

// A text from others as it may stand in a line of a terminal (base/shown.h), with an end. What does not fit
// into `room` bytes (at least one) is left out. Returns how many bytes that took.
size_t unisono_show(const char* text, char* line, size_t room);

// Of all ranks of the job, as far as the launcher's environment tells, only the first says it.
__attribute__((format(printf, 1, 2))) void unisono_say_once_per_job(const char* format, ...);
// The first rank of each node says it.
__attribute__((format(printf, 1, 2))) void unisono_say_once_per_node(const char* format, ...);
__attribute__((format(printf, 1, 2))) void unisono_say(const char* format, ...);
