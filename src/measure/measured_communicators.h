// SPDX-License-Identifier: BSD-3-Clause
// The communicators that a benchmark measures on, and who takes part.
#pragma once

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// All ranks that are in some communicator that is measured: they begin together, and of their times the
// longest counts.
static MPI_Comm everybody = MPI_COMM_WORLD;

// "world", "split:N" (N groups of neighbours), "strided:N" (N groups, ranks dealt out in turn), "node",
// "leaders" (one rank of each node), "reversed". All groups measure at the same time, as programs use them.
// MPI_COMM_NULL where the name makes no sense, and, of leaders, on those who take no part.
static MPI_Comm communicator_named(const char* name, int world_rank, int world_size) {
  const char* number = strchr(name, ':');
  const int groups = number == NULL ? 0 : atoi(number + 1);
  MPI_Comm made = MPI_COMM_NULL;
  if (strcmp(name, "world") == 0) return MPI_COMM_WORLD;
  if (strcmp(name, "reversed") == 0) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made);
  } else if (strcmp(name, "node") == 0) {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &made);
  } else if (strcmp(name, "leaders") == 0) {
    int on_node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &made);
    MPI_Comm_rank(made, &on_node);
    MPI_Comm_free(&made);
    MPI_Comm_split(MPI_COMM_WORLD, on_node == 0 ? 0 : MPI_UNDEFINED, world_rank, &made);
    everybody = made;
  } else if (strncmp(name, "split:", 6) == 0 && groups > 0 && groups <= world_size) {
    MPI_Comm_split(MPI_COMM_WORLD, (int)((long)world_rank * groups / world_size), world_rank, &made);
  } else if (strncmp(name, "strided:", 8) == 0 && groups > 0 && groups <= world_size) {
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % groups, world_rank, &made);
  }
  return made;
}

// Takes no core from those who measure.
static void sleep_until_told(int tag, int by) {
  for (int is_told = 0; !is_told;) {
    usleep(500);
    MPI_Iprobe(by, tag, MPI_COMM_WORLD, &is_told, MPI_STATUS_IGNORE);
  }
}

// Of all ranks: those who take no part sleep until the others have finished, whose rank 0 is the world's.
enum { finished_tag = 79 };
static void sleep_until_finished(void) {
  sleep_until_told(finished_tag, 0);
  MPI_Recv(NULL, 0, MPI_BYTE, 0, finished_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wake_sleepers(int world_rank) {
  if (everybody == MPI_COMM_WORLD || world_rank != 0) return;
  MPI_Group all, taking_part, asleep;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(everybody, &taking_part);
  MPI_Group_difference(all, taking_part, &asleep);
  int count;
  MPI_Group_size(asleep, &count);
  for (int i = 0; i < count; ++i) {
    int in_world;
    MPI_Group_translate_ranks(asleep, 1, &i, all, &in_world);
    MPI_Send(NULL, 0, MPI_BYTE, in_world, finished_tag, MPI_COMM_WORLD);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&taking_part);
  MPI_Group_free(&asleep);
}
