// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/shown_character.h"
#include "preload/error_message.h"

// What launchers call a process's rank in the job, and on its node.
static const char* const job_rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
                                             "MPI_RANKID",           "SLURM_PROCID", "PALS_RANKID",
                                             "FLUX_TASK_RANK",       "ALPS_APP_PE"};
static const char* const node_rank_names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                              "SLURM_LOCALID", "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID"};

// The first of the variables that is set decides; where none is, this process speaks for itself.
static int is_first(const char* const* names, int count) {
  for (int i = 0; i < count; ++i) {
    const char* value = getenv(names[i]);
    if (value != NULL) return strcmp(value, "0") == 0;
  }
  return 1;
}

size_t unisono_show(const char* text, char* line, size_t room) {
  size_t used = 0;
  for (size_t left = strlen(text); left > 0;) {
    const struct unisono_shown_character first = unisono_shown_first(text, left, "");
    const size_t bytes = strlen(first.text);
    if (bytes >= room - used) break;
    memcpy(line + used, first.text, bytes);
    used += bytes;
    text += first.taken;
    left -= first.taken;
  }
  line[used] = '\0';
  return used;
}

// A write of ours must not end the process where a limit for files is reached, or nobody reads the pipe.
static void put(const char* line, size_t bytes) {
  static const int numbers[] = {SIGXFSZ, SIGPIPE};
  sigset_t ours, before, pending;
  sigemptyset(&ours);
  sigpending(&pending);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (!sigismember(&pending, numbers[i])) sigaddset(&ours, numbers[i]);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  ssize_t written = write(STDERR_FILENO, line, bytes);
  (void)written;  // nobody is left to tell
  const struct timespec at_once = {0, 0};
  while (sigtimedwait(&ours, NULL, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void say(const char* format, va_list arguments) {
  static const char prefix[] = "unisono: ";
  char text[2048], line[sizeof prefix + 4 * sizeof text];
  if (vsnprintf(text, sizeof text, format, arguments) < 0) return;
  memcpy(line, prefix, sizeof prefix);
  size_t used = sizeof prefix - 1;
  used += unisono_show(text, line + used, sizeof line - used);
  line[used++] = '\n';
  put(line, used);
}

void unisono_say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

void unisono_say_once_per_job(const char* format, ...) {
  if (!is_first(job_rank_names, sizeof job_rank_names / sizeof *job_rank_names)) return;
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

void unisono_say_once_per_node(const char* format, ...) {
  if (!is_first(node_rank_names, sizeof node_rank_names / sizeof *node_rank_names)) return;
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}
