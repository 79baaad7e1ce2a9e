// SPDX-License-Identifier: BSD-3-Clause
// The calls with which the program makes and frees communicators.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

// The wrappers of the functions that free a communicator, ...
int comm_free(MPI_Comm* comm);
int comm_disconnect(MPI_Comm* comm);

// ... and of those that make one of a communicator or of groups.
int comm_dup(MPI_Comm comm, MPI_Comm* created);
int comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created);
int comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* created);
int comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* created);
int comm_split(MPI_Comm comm, int color, int key, MPI_Comm* created);
int comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* created);
int cart_create(MPI_Comm comm, int count, const int sizes[], const int periods[], int reorder,
                MPI_Comm* created);
int cart_sub(MPI_Comm comm, const int kept[], MPI_Comm* created);
int graph_create(MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                 MPI_Comm* created);
int dist_graph_create(MPI_Comm comm, int count, const int sources[], const int degrees[],
                      const int destinations[], const int weights[], MPI_Info info, int reorder,
                      MPI_Comm* created);
int dist_graph_create_adjacent(MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
                               const int destinations[], const int out_weights[], MPI_Info info, int reorder,
                               MPI_Comm* created);
int intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag,
                     MPI_Comm* created);
int intercomm_merge(MPI_Comm inter, int is_high, MPI_Comm* created);
int comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                           MPI_Comm* created);
int intercomm_create_from_groups(MPI_Group local, int local_leader, MPI_Group remote, int remote_leader,
                                 const char* tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm* created);

}  // namespace unisono::adapter
