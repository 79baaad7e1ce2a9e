// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the host MPI and of Unisono side by side, alternating in one run (A11, section 2.6).
// `unisono bench` compiles and starts it.
//
//   collectives [--operations a,b] [--sizes 8,1024] [--precision PART] [--samples N] [--seconds S]
//               [--comm world|split:N|strided:N|node|leaders|reversed] [--start barrier|window]
//               [--form blocking|non-blocking]
//               [--graph grid|moore:D,R|random:P|ring|complete]
//               [--skew US] [--seed N] [--cold] [--skip-verify]
//               [--candidates 'bcast:chain;bcast:binomial(segment=64K);...' [--finalists N]] [--serve]
//
// A sample is the time of the longest rank for a batch of calls, timed as a whole and divided by their
// number. Batches of native and Unisono alternate. A barrier precedes each batch; for small messages of
// operations that synchronise two calls that do not count do so as well. From 16 KiB on a batch is one call,
// and senders write their data anew before it. Whatever serves is called for a while before it is timed
// (settle.h). Each of the candidates is tried in a few batches. The best of them take part in the
// alternation, so that what is told of them was not what they were picked by. Rank 0 prints one JSON object
// per line (of calls that do not block, each of which is waited for at once, `unisono` names what serves
// those):
//     {"operation","bytes","ranks","batch","native_s":[...],"unisono_s":[...],"unisono":"ring(...)",
//      "is_same","candidates":[{"name","tried_s","samples_s":[...]}]}
// Candidates that may not run there are left out. The first line says what is measured on (place.h), and in
// "is_active" whether it is under Unisono. "ranks_of_nodes" is there where the nodes' ranks differ in number:
//     {"mpi","ranks","nodes","ranks_per_node":[least,most],"is_consecutive","is_uniform","job_nodes",
//      "job_ranks_per_node","cores","nodes_on_cores","ranks_of_nodes","is_active"}
//
// With --serve rank 0 reads what to measure from its standard input. A request is one line of words separated
// by tabs. Each but the last of these is answered by one JSON object on a line:
// - "choice OPERATION BYTES" begins with this operation and size, and says what Unisono chooses.
// - "look OPERATION BYTES SECONDS CANDIDATES" tries candidates for so long, and cuts short what is slow.
// - "look_alike ..." does the same, and cuts nothing short.
// - "compare ..." lets native, Unisono's choice and all candidates (at most 8) alternate until their medians
//   are precise.
// - "decide ..." lets them alternate until it is known which is the least. What is behind leaves, and has
//   fewer samples.
// - "able OPERATION BYTES 0 CANDIDATES" says which of them may run, without a call:
//   {"operation","bytes","able":[name,...]}.
// - "cost WHAT BYTES SECONDS GROUP,BUFFERS,WAIT" measures a message or an operation on shared memory
//   (costs.h): {"cost","bytes","series":{name:[seconds,...]}}.
// - "noise - 0 SECONDS" records what takes cores away (noise.h).
// - "end" ends the job.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured_communicators.h"
#include "measured_operations.h"
#include "series_samples.h"

enum { large_bytes = 16384 };       // from here on a batch is one call, of data that has just been written
static int world_rank, world_size;  // of everybody who takes part

// These go by what stands above.
#include "command_line.h"
#include "served_requests.h"

// Makes the communicator that is measured. Those that take no part have none of everybody.
static void join_in(const struct CommandLine* line) {
  comm = communicator_named(line->layout, world_rank, world_size);
  if (everybody == MPI_COMM_NULL) return;
  if (comm == MPI_COMM_NULL) {
    if (world_rank == 0)
      fprintf(stderr, "collectives: no communicator %s of %d ranks\n", line->layout, world_size);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(everybody, &world_rank);
  MPI_Comm_size(everybody, &world_size);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (make_neighbors(line->graph, comm)) return;
  if (world_rank == 0) fprintf(stderr, "collectives: no graph %s\n", line->graph);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static void* make_buffer(size_t bytes, int largest) {
  void* made = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (made == NULL) {
    fprintf(stderr, "collectives: no memory for messages of %d bytes\n", largest);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return memset(made, 0, bytes);
}

static void make_buffers(int largest) {
  // Uneven blocks are up to half as long again.
  const size_t room = ((size_t)largest + (size_t)largest / 2 + 64) * (size_t)most_blocks();
  input = make_buffer(room, largest);
  output = make_buffer(room, largest);
  expected = make_buffer(room, largest);
}

// All operations that are named, in all sizes. False where a result was wrong.
static int measure_all(const struct CommandLine* line, const int* bytes, int count) {
  int is_all_same = 1;
  for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
    if (!is_listed(line->names, operations[o].name)) continue;
    for (int s = 0; s < count; ++s) {
      if (!operations[o].is_sized && s > 0) break;
      const int n = operations[o].is_sized ? bytes[s] : 0;
      if (operations[o].is_reduction && n % 8 != 0) continue;
      is_all_same &= measure(&operations[o], n, &line->settings);
    }
  }
  return is_all_same;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  struct CommandLine line = read_command_line(argc, argv);
  join_in(&line);
  const struct Place job = place_of(MPI_COMM_WORLD);
  if (everybody == MPI_COMM_NULL) {
    sleep_until_finished();
    MPI_Finalize();
    return 0;
  }
  if (line.candidates != NULL) list_candidates(line.candidates);
  int bytes[max_sizes], largest = 8;
  const int count = read_sizes(line.sizes, bytes, max_sizes);
  if (count < 0 || (!line.is_serving && !have_counts(line.names, bytes, count, world_rank))) {
    if (count < 0 && world_rank == 0)
      fprintf(stderr, "collectives: no sizes that an int holds: %s\n", line.sizes);
    wake_sleepers(world_rank);
    MPI_Finalize();
    return 2;
  }
  for (int s = 0; s < count; ++s) largest = bytes[s] > largest ? bytes[s] : largest;
  make_buffers(largest);
  find_servers();
  distance = (Distance*)dlsym(RTLD_DEFAULT, "unisono_distance");
  operation_time = (OperationTime*)dlsym(RTLD_DEFAULT, "unisono_operation_time");
  MPI_Barrier(comm);  // sets the communicator up
  enable(0);
  print_place(comm, job);
  const int is_all_same = line.is_serving ? serve(largest, line.settings) : measure_all(&line, bytes, count);
  enable(1);
  wake_sleepers(world_rank);
  MPI_Finalize();
  return is_all_same ? 0 : 1;
}
