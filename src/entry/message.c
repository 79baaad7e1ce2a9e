// SPDX-License-Identifier: BSD-3-Clause
#include "entry/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void say(const char* format, va_list arguments) {
  static const char prefix[] = "unisono: ";
  char line[2048];
  memcpy(line, prefix, sizeof prefix);
  size_t used = sizeof prefix - 1;
  int length = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
  if (length < 0) return;
  used = strlen(line);
  line[used++] = '\n';
  ssize_t written = write(STDERR_FILENO, line, used);
  (void)written;  // nobody is left to tell
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
