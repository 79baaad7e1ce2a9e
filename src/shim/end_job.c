// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "shim/end_job.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

// Hydra, MPICH's launcher, takes a process that exits before MPI_Init for a program without MPI, whatever its
// code. It then waits for the ranks on other hosts, which wait for this one. A signal makes it end them. But
// the signal must not come before Hydra's proxies on all hosts have reported, so they get a moment.
void unisono_end_job(int code) {
  if (getenv("PMI_RANK") != NULL) {
    const struct timespec moment = {.tv_sec = 0, .tv_nsec = 500000000};
    nanosleep(&moment, NULL);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
  }
  exit(code);
}
