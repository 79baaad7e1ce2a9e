// SPDX-License-Identifier: BSD-3-Clause
// How a process of a job ends that never comes to its MPI_Init.
#pragma once

// Exit codes, as env and other starters have them. Most launchers end the job when a process exits with one.
enum { exit_own_failure = 125, exit_not_executable = 126, exit_not_found = 127 };

// Under MPICH's launcher by SIGTERM instead, which alone makes it end the ranks on other hosts.
__attribute__((noreturn)) void unisono_end_job(int code);
