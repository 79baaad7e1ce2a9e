// SPDX-License-Identifier: BSD-3-Clause
// The begin and the end of the program's communicators, as far as somebody must know of it: which are freed
// at the moment, and which outlive the MPI_Finalize at which Unisono ends.
#pragma once

#include "host/mpi/family.h"
#include "host/mpi/hints.h"

namespace unisono::host::mpi {

// Once, after the host's MPI_Init.
void begin_communicators();

// A communicator that the host is freeing for this thread. Delete callbacks of its attributes may use it, but
// the host takes its attributes apart meanwhile: none can be asked or set. Ours have been taken away.
struct Ending {
  MPI_Comm comm;
  KeptHint hint;
  bool is_session;
};
// Null: `comm` is none.
const Ending* find_ending(MPI_Comm comm);

// Was it made from a session's group, or from such a communicator? What the program starts on it may go on
// behind MPI_Finalize, which ends the world model alone (MPI 4.1, section 11.2).
bool is_of_session(MPI_Comm comm);

// The wrappers of the functions that free a communicator, ...
int comm_free(MPI_Comm* comm);
int comm_disconnect(MPI_Comm* comm);

// ... and of those that make one of a communicator or of groups.
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

}  // namespace unisono::host::mpi
