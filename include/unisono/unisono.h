/* SPDX-License-Identifier: BSD-3-Clause */
/* Unisono's interface to programs, for C and C++. A program needs none of it to run under Unisono.
 *
 * Nothing has to be linked: the functions are declared weak and are there only when the program runs under
 * Unisono
 * (`unisono run`, or libunisono.so preloaded), so ask first:
 *
 *     if (unisono_is_active && unisono_is_active()) unisono_set_enabled(0);
 *
 * A program that was built as a non-position-independent executable, or one in another language, finds them
 * by dlsym(RTLD_DEFAULT, "unisono_is_active") and so on. */
#ifndef UNISONO_UNISONO_H
#define UNISONO_UNISONO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define UNISONO_API __attribute__((weak, visibility("default")))
#else
#define UNISONO_API
#endif

/* Switches Unisono's collectives off (0) and on (anything else); the host MPI's own run while it is off.
 * Takes effect at once. Call it on all ranks alike, at the same place between collective calls: ranks that
 * disagree run different algorithms against each other. Allowed at any time, also before MPI_Init. Returns
 * the setting before: 0 or 1. */
UNISONO_API int unisono_set_enabled(int is_enabled);

/* 1 while Unisono takes this process's collectives: between MPI_Init and MPI_Finalize, enabled, and on an MPI
 * that it knows; else 0. Local. */
UNISONO_API int unisono_is_active(void);

/* Forces algorithms from now on, in the place of option `algorithm` and in its syntax ("allreduce:ring" or
 * "bcast:chain(segment=64K),reduce:native"); an empty text leaves all to Unisono again. Call it on all ranks
 * alike, after MPI_Init, while no collective call is under way. Returns 0, or -1 where the text makes no
 * sense (nothing changes then) or Unisono does not run. Where an algorithm may not run, Unisono decides as
 * without it: unisono_decision tells. */
UNISONO_API int unisono_set_algorithm(const char* text);

/* What serves blocking calls of `operation` ("allreduce", ...) on MPI_COMM_WORLD, as text:
 * "ring(segment=65536,window=2)", or "native". Messages have `bytes` bytes, counted as in
 * docs/reference/algorithms.md. "iallreduce" stands for calls that do not block. Writes at most text_bytes
 * bytes, the closing zero among them, and returns the text's whole length. -1: there is no such operation, or
 * Unisono does not take the calls. Local. */
UNISONO_API int unisono_decision(const char* operation, long long bytes, char* text, size_t text_bytes);

/* The same on another communicator, to an MPI_Comm of which `comm` points: -1 also before its first blocking
 * collective, which is when Unisono gets to know it. */
UNISONO_API int unisono_decision_on(const void* comm, const char* operation, long long bytes, char* text,
                                    size_t text_bytes);

/* What lies between two ranks of MPI_COMM_WORLD. 1 says that they are in different caches, 2 in NUMA domains,
 * 3 in sockets, 4 in nodes. 0: nothing is known to (docs/guide/topology.md). -1: there is no such rank, or
 * Unisono does not take the calls. Local. */
UNISONO_API int unisono_distance(int rank, int other);

/* Measures what an operation on the shared memory of a node costs this rank: seconds, the mean of so many
 * repetitions. The result is less than 0 where this rank has no part in the operation, or nothing is
 * measured.
 *
 * - `comm` points to an MPI_Comm. All of its ranks call this alike, with no call under way on it.
 * - `what` is put, get, pipeline, pair_sync, group_sync, group_seg_put, group_seg_get, signal, await, copy,
 *   copy_by_all, combine, single_copy, barrier, bcast or allreduce (docs/guide/models.md).
 * - `bytes` is the length of the data, and `buffers` how many buffers it goes through.
 * - `wait` is how ranks wait meanwhile: a value of option `wait`, or empty.
 *
 * `unisono machine measure` describes machines by it. Blocks. */
UNISONO_API double unisono_operation_time(const void* comm, const char* what, long long bytes, int buffers,
                                          const char* wait, int repetitions);

/* A region of the program, by name: where Unisono learns while the program runs (UNISONO_LEARN), calls of one
 * kind in two regions are learned apart. Regions may stand in each other; the innermost one counts. Of the
 * whole process, between MPI_Init and MPI_Finalize (elsewhere nothing happens). All ranks of a communicator
 * should be in the same region when they call a collective; where they differ none counts, and nothing
 * breaks. A region counts from the next time on at which the ranks agree on what they have learned. Regions
 * are expected to come again in the order in which they came (docs/guide/learning.md). The name is copied.
 * Local, a few hundred nanoseconds. */
UNISONO_API void unisono_region_begin(const char* name);
UNISONO_API void unisono_region_end(void);

/* The same without any symbol of Unisono: MPI_Pcontrol(UNISONO_PCONTROL_BEGIN, "name") and
 * MPI_Pcontrol(UNISONO_PCONTROL_END). In Fortran, whose MPI_Pcontrol takes the level alone,
 * UNISONO_PCONTROL_NUMBERED + n, for n from 0 to 99, begins the region "n". All other levels are the MPI's
 * and the tools'. */
#define UNISONO_PCONTROL_BEGIN 7300
#define UNISONO_PCONTROL_END 7301
#define UNISONO_PCONTROL_NUMBERED 7400

/* The version of the preloaded library. The text is static. */
UNISONO_API const char* unisono_version(void);

#undef UNISONO_API

#ifdef __cplusplus
}
#endif

#endif
