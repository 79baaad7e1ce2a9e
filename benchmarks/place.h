// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark job runs on: its MPI, and where its ranks are.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  int node, local, on_node;  // of this rank; nodes are numbered by their lowest ranks
  int nodes, busiest, pairs;
} layout = {-1, 0, 0, 0, 0, 0};

static void find_layout(void) {
  if (layout.node >= 0) return;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &layout.local);
  MPI_Comm_size(node, &layout.on_node);
  int leader = world_rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  int mine[2] = {leader, layout.on_node};
  int* all = malloc(2 * (size_t)world_size * sizeof *all);
  MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD);
  int most = 0, sizes[2] = {0, 0};
  for (int r = 0; r < world_size; ++r) {
    if (all[2 * r] != r) continue;
    if (leader == r) layout.node = layout.nodes;
    if (all[2 * r + 1] > most) most = all[2 * r + 1], layout.busiest = layout.nodes;
    if (layout.nodes < 2) sizes[layout.nodes] = all[2 * r + 1];
    ++layout.nodes;
  }
  layout.pairs = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
  free(all);
}

static void print_place(void) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node, ends[2] = {world_rank, -world_rank}, local[2], is_first, nodes, least, most, all_consecutive;
  MPI_Comm_size(node, &on_node);
  MPI_Allreduce(ends, local, 2, MPI_INT, MPI_MAX, node);
  int is_consecutive = local[0] + local[1] + 1 == on_node;
  is_first = -local[1] == world_rank;
  MPI_Allreduce(&is_first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&on_node, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&on_node, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&is_consecutive, &all_consecutive, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  cpu_set_t own, all;
  sched_getaffinity(0, sizeof own, &own);
  MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, node);
  int cores = CPU_COUNT(&all), least_cores;
  MPI_Allreduce(&cores, &least_cores, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, ",\n\"\\")] = 0;
  for (char* c = library; *c != 0; ++c) {
    if (*c == '\t') *c = ' ';
  }
  if (world_rank != 0) return;
  printf(
      "{\"mpi\": \"%s\", \"ranks\": %d, \"nodes\": %d, \"ranks_per_node\": [%d, %d], \"is_consecutive\": "
      "%s, \"cores\": %d, \"is_active\": %s}\n",
      library, world_size, nodes, least, most, all_consecutive ? "true" : "false", least_cores,
      set_algorithm != NULL ? "true" : "false");
  fflush(stdout);
}
