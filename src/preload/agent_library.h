// SPDX-License-Identifier: BSD-3-Clause
// What unisono-agent and the adapter of an ABI family say to each other: the program loads an MPI and the
// adapter beside it, whose function is an agent's whole life.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct UnisonoAgent {
  const char* version;            // of the program: both are of one build
  const char* job;                // the job's own name
  const char* carrier;            // what goes between nodes
  int has_soft_float;             // 1: it computes by SoftFloat
  int again;                      // how often the job's agents were started before
  const unsigned char* must_end;  // 1: nobody needs it any more; another thread sets it
};

// `mpi` is dlopen's handle of the MPI, which has not been started. Returns when the agent's part is done and
// the MPI has ended: 0, or a status for exit with what is wrong in `problem`.
typedef int UnisonoRunAgent(void* mpi, const struct UnisonoAgent* agent, char* problem, size_t problem_bytes);
#define UNISONO_RUN_AGENT "unisono_run_agent"

#ifdef __cplusplus
}
#endif
