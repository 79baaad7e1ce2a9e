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

// Where the ranks of a communicator are.
struct Place {
  int ranks, nodes, least, most;  // the fewest and most ranks on a node
  int first_of;                   // so many ranks of a node, of which this is the first; 0: it is not
  int is_consecutive;             // each node's ranks are consecutive
  int cores;                      // that the ranks of a node may use, the fewest
  int nodes_on_cores;             // nodes that share one set of cores, the most: containers, emulated nodes
};

// Of the machine, and of the cores of it that a node's ranks may use.
static unsigned long long name_of_cores(const cpu_set_t* cores) {
  char text[64 + sizeof *cores] = "";
  FILE* boot = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (boot != NULL) {
    if (fgets(text, 64, boot) == NULL) text[0] = 0;
    fclose(boot);
  }
  memcpy(text + 64, cores, sizeof *cores);
  unsigned long long hash = 14695981039346656037ULL;
  for (size_t i = 0; i < sizeof text; ++i) hash = (hash ^ (unsigned char)text[i]) * 1099511628211ULL;
  return hash;
}

// On how many nodes the ranks have that name, the most of any.
static int nodes_of_one_name(MPI_Comm of, int ranks, unsigned long long name, int is_first_of_node) {
  unsigned long long own[2] = {name, (unsigned long long)is_first_of_node};
  unsigned long long* all = malloc(2 * (size_t)ranks * sizeof *all);
  MPI_Allgather(own, 2, MPI_UNSIGNED_LONG_LONG, all, 2, MPI_UNSIGNED_LONG_LONG, of);
  int alike = 0, most;
  for (int r = 0; r < ranks; ++r) alike += all[2 * r] == name && all[2 * r + 1] != 0;
  free(all);
  MPI_Allreduce(&alike, &most, 1, MPI_INT, MPI_MAX, of);
  return most;
}

static struct Place place_of(MPI_Comm of) {
  struct Place place;
  MPI_Comm node;
  int own, on_node;
  MPI_Comm_rank(of, &own);
  MPI_Comm_size(of, &place.ranks);
  MPI_Comm_split_type(of, MPI_COMM_TYPE_SHARED, own, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  int ends[2] = {own, -own}, local[2];
  MPI_Allreduce(ends, local, 2, MPI_INT, MPI_MAX, node);
  const int is_first = -local[1] == own, is_consecutive = local[0] + local[1] + 1 == on_node;
  place.first_of = is_first ? on_node : 0;
  MPI_Allreduce(&is_first, &place.nodes, 1, MPI_INT, MPI_SUM, of);
  MPI_Allreduce(&on_node, &place.most, 1, MPI_INT, MPI_MAX, of);
  MPI_Allreduce(&on_node, &place.least, 1, MPI_INT, MPI_MIN, of);
  MPI_Allreduce(&is_consecutive, &place.is_consecutive, 1, MPI_INT, MPI_MIN, of);
  cpu_set_t mine, all;
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
  const int cores = CPU_COUNT(&all);
  MPI_Allreduce(&cores, &place.cores, 1, MPI_INT, MPI_MIN, of);
  place.nodes_on_cores = nodes_of_one_name(of, place.ranks, name_of_cores(&all), is_first);
  MPI_Comm_free(&node);
  return place;
}

// The ranks of each node, as a list behind a comma.
static char* ranks_of_nodes(MPI_Comm of, const struct Place* place) {
  const size_t most_text = 32 + 12 * (size_t)place->nodes;
  char* text = calloc(1, most_text);
  int* all = malloc((size_t)place->ranks * sizeof *all);
  MPI_Allgather(&place->first_of, 1, MPI_INT, all, 1, MPI_INT, of);
  size_t length = 0;
  for (int r = 0; r < place->ranks; ++r) {
    if (all[r] == 0) continue;
    length += (size_t)snprintf(text + length, most_text - length, "%s%d",
                               length == 0 ? ", \"ranks_of_nodes\": [" : ", ", all[r]);
  }
  text[length] = ']';
  free(all);
  return text;
}

// Of the communicators that are measured all have one layout, or not; the first one's is printed, and the
// whole job's.
static void print_place(MPI_Comm measured, struct Place job) {
  const struct Place place = place_of(measured);
  enum { numbers = 5 };
  const int own[numbers] = {place.ranks, place.nodes, place.least, place.most, place.is_consecutive};
  int ends[2 * numbers], furthest[2 * numbers], is_uniform = 1;
  for (int i = 0; i < numbers; ++i) ends[i] = own[i], ends[numbers + i] = -own[i];
  MPI_Allreduce(ends, furthest, 2 * numbers, MPI_INT, MPI_MAX, everybody);
  for (int i = 0; i < numbers; ++i) is_uniform &= furthest[i] == -furthest[numbers + i];
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, ",\n\"\\")] = 0;
  for (char* c = library; *c != 0; ++c) {
    if (*c == '\t') *c = ' ';
  }
  char* nodes = place.least == place.most ? NULL : ranks_of_nodes(measured, &place);
  if (world_rank != 0) {
    free(nodes);
    return;
  }
  printf(
      "{\"mpi\": \"%s\", \"ranks\": %d, \"nodes\": %d, \"ranks_per_node\": [%d, %d], \"is_consecutive\": "
      "%s, \"is_uniform\": %s, \"job_nodes\": %d, \"job_ranks_per_node\": [%d, %d], \"cores\": %d, "
      "\"nodes_on_cores\": %d%s, \"is_active\": %s}\n",
      library, place.ranks, place.nodes, place.least, place.most, place.is_consecutive ? "true" : "false",
      is_uniform ? "true" : "false", job.nodes, job.least, job.most, job.cores, job.nodes_on_cores,
      nodes == NULL ? "" : nodes, set_algorithm != NULL ? "true" : "false");
  fflush(stdout);
  free(nodes);
}
