// SPDX-License-Identifier: BSD-3-Clause
// What the command line asks for (see collectives.c).
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

enum { max_sizes = 64 };

struct CommandLine {
  const char *names, *sizes, *layout, *graph;
  char* candidates;  // null: none
  int is_serving;
  struct Settings settings;
};

static void refuse(const char* what, const char* which) {
  if (world_rank == 0) fprintf(stderr, "collectives: %s %s\n", what, which);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

// True where the option is one of those without a value.
static int read_flag(const char* option, struct CommandLine* line) {
  if (strcmp(option, "--skip-verify") == 0) {
    line->settings.is_verified = 0;
  } else if (strcmp(option, "--serve") == 0) {
    line->is_serving = 1;
  } else if (strcmp(option, "--cold") == 0) {
    start_of.is_cold = 1;
  } else {
    return 0;
  }
  return 1;
}

static void read_option(const char* option, char* value, struct CommandLine* line) {
  if (strcmp(option, "--comm") == 0) {
    line->layout = value;
  } else if (strcmp(option, "--graph") == 0) {
    line->graph = value;
  } else if (strcmp(option, "--form") == 0) {
    is_non_blocking = strcmp(value, "non-blocking") == 0;
  } else if (strcmp(option, "--start") == 0) {
    start_of.is_window = strcmp(value, "window") == 0;
  } else if (strcmp(option, "--skew") == 0) {
    start_of.skew_s = atof(value) * 1e-6;
  } else if (strcmp(option, "--seed") == 0) {
    start_of.seed = strtoull(value, NULL, 10);
  } else if (strcmp(option, "--operations") == 0) {
    line->names = value;
  } else if (strcmp(option, "--sizes") == 0) {
    line->sizes = value;
  } else if (strcmp(option, "--samples") == 0) {
    line->settings.samples = atoi(value);
  } else if (strcmp(option, "--seconds") == 0) {
    line->settings.seconds = atof(value);
  } else if (strcmp(option, "--precision") == 0) {
    line->settings.purpose.precision = atof(value);
  } else if (strcmp(option, "--candidates") == 0) {
    line->candidates = value;
  } else if (strcmp(option, "--finalists") == 0) {
    line->settings.finalists = atoi(value);
  } else {
    refuse("unknown option", option);
  }
}

static struct CommandLine read_command_line(int argc, char** argv) {
  static char nothing[] = "";
  struct CommandLine line = {.names = "",
                             .sizes = "8,1024,65536,1048576",
                             .layout = "world",
                             .graph = "grid",
                             .settings = {1000, 2, 1, 1, 1e9, {.precision = 0.01}}};
  for (int i = 1; i < argc; ++i) {
    if (read_flag(argv[i], &line)) continue;
    read_option(argv[i], i + 1 < argc ? argv[i + 1] : nothing, &line);
    ++i;
  }
  struct Settings* settings = &line.settings;
  if (settings->samples < fewest_samples) settings->samples = fewest_samples;
  if (settings->samples > max_samples) settings->samples = max_samples;
  if (settings->finalists > max_finalists) settings->finalists = max_finalists;
  return line;
}
