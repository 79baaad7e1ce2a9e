// SPDX-License-Identifier: BSD-3-Clause
// Who measures what messages and operations cost: groups of ranks, each made when it is first asked for.
#pragma once

#include <mpi.h>
#include <string.h>

#include "job_place.h"

struct Group {
  const char* name;
  int is_made, is_possible;
  MPI_Comm comm;  // MPI_COMM_NULL on those who sleep
  int first;      // its rank 0, in the world
};
static struct Group groups[] = {
    // Two ranks of the node that has most: its first one, and the nearest to that.
    {"pair", 0, 0, MPI_COMM_NULL, 0},
    {"node", 0, 0, MPI_COMM_NULL, 0},  // all of that node
    // A rank of it and another one of the nearest that lie so far from it.
    {"cache", 0, 0, MPI_COMM_NULL, 0},
    {"numa", 0, 0, MPI_COMM_NULL, 0},
    {"socket", 0, 0, MPI_COMM_NULL, 0},
    {"net", 0, 0, MPI_COMM_NULL, 0},   // one rank each of two nodes
    {"nets", 0, 0, MPI_COMM_NULL, 0},  // as many pairs as two nodes have; 2 i and 2 i + 1 are one
    {"all", 0, 0, MPI_COMM_NULL, 0}};

typedef int Distance(int rank, int other);
static Distance* distance;

// How far this rank is from the first one of the node that has most; -1: it is on another node, or that one.
static int distance_from_first(int* first) {
  const int is_first = layout.node == layout.busiest && layout.local == 0;
  *first = is_first ? world_rank : world_size;
  MPI_Allreduce(MPI_IN_PLACE, first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (layout.node != layout.busiest || is_first) return -1;
  const int found = distance == NULL ? 0 : distance(*first, world_rank);
  return found < 0 ? 0 : found;
}

// Is this rank that first one, or the lowest of those that lie so far from it? -1: of those that lie nearest.
static int is_so_far(int wanted) {
  int first = 0;
  const int own = distance_from_first(&first);
  if (wanted < 0) {
    wanted = own < 0 ? world_size : own;
    MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  int lowest = own == wanted ? world_rank : world_size;
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return world_rank == first || world_rank == lowest;
}

static struct Group* find_group(const char* name) {
  struct Group* group = NULL;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; ++i) {
    if (strcmp(groups[i].name, name) == 0) group = &groups[i];
  }
  if (group == NULL || group->is_made) return group;
  find_layout();
  const int is_between = strncmp(name, "net", 3) == 0;
  int is_member = layout.node == layout.busiest, key = layout.local;
  if (strcmp(name, "pair") == 0) is_member = is_so_far(-1);
  static const char* const far[] = {"cache", "numa", "socket"};
  for (int i = 0; i < 3; ++i)
    if (strcmp(name, far[i]) == 0) is_member = is_so_far(i + 1);
  if (is_between) {
    const int pairs = strcmp(name, "net") == 0 ? 1 : layout.pairs;
    is_member = layout.node < 2 && layout.nodes > 1 && layout.local < pairs;
    key = 2 * layout.local + layout.node;
  }
  if (strcmp(name, "all") == 0) is_member = 1, key = world_rank;
  MPI_Comm_split(MPI_COMM_WORLD, is_member ? 0 : MPI_UNDEFINED, key, &group->comm);
  int members = 0, first = world_size, number = -1;
  if (group->comm != MPI_COMM_NULL) {
    MPI_Comm_rank(group->comm, &number);
    MPI_Comm_size(group->comm, &members);
  }
  if (number == 0) first = world_rank;
  MPI_Allreduce(&first, &group->first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &members, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  group->is_possible = members > 1;
  group->is_made = 1;
  return group;
}
