// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/communicator_calls.h"

#include <memory>
#include <utility>

#include "adapter/below/functions.h"
#include "adapter/below/hints.h"
#include "adapter/below/marks.h"
#include "adapter/below/nesting.h"
#include "adapter/below/place.h"
#include "adapter/host_interface/mpi_host.h"
#include "adapter/life.h"
#include "adapter/messages/layer.h"
#include "adapter/requests/failures.h"
#include "adapter/worlds.h"
#include "runtime/host_freeing.h"
#include "runtime/runtime.h"

namespace unisono::adapter {
namespace {

// What is made of a session's communicator is the session's too. (A duplicate inherits the attribute.)
int made(int result, MPI_Comm of, const MPI_Comm* created) {
  if (result != MPI_SUCCESS || nesting != 0 || *created == MPI_COMM_NULL) return result;
  if (has_session_communicators() && is_of_session(of)) {
    mark_of_session(*created);
    return result;
  }
  const Nested nested;
  if (runtime::has_across()) runtime::inherit_across(widen<host::Comm>(of), widen<host::Comm>(*created));
  if (messages::is_on()) messages::open(*created);
  return result;
}

// Behind made() and give_hints(): its ranks are all in the call, with all that the program says of it.
int set_up_early(int result, const MPI_Comm* created) {
  if (result != MPI_SUCCESS || nesting != 0 || *created == MPI_COMM_NULL || !is_alive()) return result;
  if (has_session_communicators() && is_of_session(*created)) return result;
  const Nested nested;
  runtime::has_made(widen<host::Comm>(*created));
  return result;
}

// --- What hosts before MPI 4.0 lack. There are no sessions then: every group is one of the world's ---

int number_of(const char* tag) {
  constexpr unsigned most = 32767;  // what MPI_TAG_UB is at least
  unsigned number = 5381;
  for (const char* letter = tag; letter != nullptr && *letter != 0; ++letter)
    number = number * 33 + static_cast<unsigned char>(*letter);
  return static_cast<int>(number % most);
}

int create_from_group_of_world(MPI_Group group, const char* tag, MPI_Errhandler handler, MPI_Comm* created) {
  const int result = pmpi.Comm_create_group(MPI_COMM_WORLD, group, number_of(tag), created);
  if (result != MPI_SUCCESS || *created == MPI_COMM_NULL) return result;
  return pmpi.Comm_set_errhandler(*created, handler);
}

int intercomm_of_world(MPI_Group local, int local_leader, MPI_Group remote, int remote_leader,
                       const char* tag, MPI_Errhandler handler, MPI_Comm* created) {
  MPI_Comm inside = MPI_COMM_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int leader = MPI_UNDEFINED;
  int result = pmpi.Comm_group(MPI_COMM_WORLD, &world);
  if (result == MPI_SUCCESS) result = pmpi.Group_translate_ranks(remote, 1, &remote_leader, world, &leader);
  if (world != MPI_GROUP_NULL) pmpi.Group_free(&world);
  if (result == MPI_SUCCESS) result = create_from_group_of_world(local, tag, handler, &inside);
  if (result != MPI_SUCCESS) return result;
  result = pmpi.Intercomm_create(inside, local_leader, MPI_COMM_WORLD, leader, number_of(tag), created);
  pmpi.Comm_free(&inside);
  return result == MPI_SUCCESS ? pmpi.Comm_set_errhandler(*created, handler) : result;
}

// The host's call that frees `*comm`.
template <class Free>
int free_by(Free host_free, MPI_Comm* comm) {
  if (comm == nullptr || nesting != 0 || *comm == MPI_COMM_NULL) return host_free(comm);
  const MPI_Comm freed = *comm;
  Marks marks;
  {
    const Nested nested;
    marks = marks_of(freed);
    runtime::begin_freeing(widen<host::Comm>(freed), marks.bits());
    detach_marks(freed);
    detach_place(freed);
    detach_free_callbacks(freed);
  }
  // Its handle may come again as soon as the host has freed it.
  std::unique_ptr<messages::OwnComm> own = messages::forget(freed);
  const int result = host_free(comm);
  const bool is_freed = result == MPI_SUCCESS;
  if (is_freed) forget_handler_of(freed);
  messages::end_forgotten(std::move(own), is_freed);
  const Nested nested;
  freed_communicators.fetch_add(1, std::memory_order_relaxed);
  runtime::end_freeing(widen<host::Comm>(freed), is_freed);
  look_again_whether_open();
  if (!is_freed) restore_marks(freed, marks);
  return result;
}

}  // namespace

int comm_free(MPI_Comm* comm) {
  return free_by(pmpi.Comm_free, comm);
}

int comm_disconnect(MPI_Comm* comm) {
  return free_by(pmpi.Comm_disconnect, comm);
}

int comm_dup(MPI_Comm comm, MPI_Comm* created) {
  return set_up_early(made(pmpi.Comm_dup(comm, created), comm, created), created);
}

int comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* created) {
  const int result = made(pmpi.Comm_dup_with_info(comm, info, created), comm, created);
  return set_up_early(give_hints(result, info, created, true), created);
}

int comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* created) {
  return set_up_early(made(pmpi.Comm_create(comm, group, created), comm, created), created);
}

int comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* created) {
  return set_up_early(made(pmpi.Comm_create_group(comm, group, tag, created), comm, created), created);
}

int comm_split(MPI_Comm comm, int color, int key, MPI_Comm* created) {
  return set_up_early(made(pmpi.Comm_split(comm, color, key, created), comm, created), created);
}

int comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* created) {
  const int result = made(pmpi.Comm_split_type(comm, type, key, info, created), comm, created);
  return set_up_early(give_hints(result, info, created), created);
}

int cart_create(MPI_Comm comm, int count, const int sizes[], const int periods[], int reorder,
                MPI_Comm* created) {
  return set_up_early(made(pmpi.Cart_create(comm, count, sizes, periods, reorder, created), comm, created),
                      created);
}

int cart_sub(MPI_Comm comm, const int kept[], MPI_Comm* created) {
  return set_up_early(made(pmpi.Cart_sub(comm, kept, created), comm, created), created);
}

int graph_create(MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                 MPI_Comm* created) {
  return set_up_early(made(pmpi.Graph_create(comm, count, index, edges, reorder, created), comm, created),
                      created);
}

int dist_graph_create(MPI_Comm comm, int count, const int sources[], const int degrees[],
                      const int destinations[], const int weights[], MPI_Info info, int reorder,
                      MPI_Comm* created) {
  const int result =
      pmpi.Dist_graph_create(comm, count, sources, degrees, destinations, weights, info, reorder, created);
  return set_up_early(give_hints(made(result, comm, created), info, created), created);
}

int dist_graph_create_adjacent(MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
                               const int destinations[], const int out_weights[], MPI_Info info, int reorder,
                               MPI_Comm* created) {
  const int result = pmpi.Dist_graph_create_adjacent(comm, in, sources, in_weights, out, destinations,
                                                     out_weights, info, reorder, created);
  return set_up_early(give_hints(made(result, comm, created), info, created), created);
}

int intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag,
                     MPI_Comm* created) {
  return made(pmpi.Intercomm_create(local, local_leader, peer, remote_leader, tag, created), local, created);
}

int intercomm_merge(MPI_Comm inter, int is_high, MPI_Comm* created) {
  const int result = made(pmpi.Intercomm_merge(inter, is_high, created), inter, created);
  if (result != MPI_SUCCESS || nesting != 0 || !is_alive()) return result;
  {
    const Nested nested;
    join_worlds(host_of_job(), *created);
    look_again_whether_open();
  }
  return set_up_early(result, created);
}

int comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                           MPI_Comm* created) {
  if (pmpi.Comm_create_from_group == nullptr)
    return give_hints(create_from_group_of_world(group, tag, handler, created), info, created, true);
  const int result = pmpi.Comm_create_from_group(group, tag, info, handler, created);
  if (result == MPI_SUCCESS && nesting == 0 && *created != MPI_COMM_NULL) mark_of_session(*created);
  return give_hints(result, info, created, true);
}

int intercomm_create_from_groups(MPI_Group local, int local_leader, MPI_Group remote, int remote_leader,
                                 const char* tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm* created) {
  if (pmpi.Intercomm_create_from_groups == nullptr)
    return intercomm_of_world(local, local_leader, remote, remote_leader, tag, handler, created);
  const int result = pmpi.Intercomm_create_from_groups(local, local_leader, remote, remote_leader, tag, info,
                                                       handler, created);
  if (result == MPI_SUCCESS && nesting == 0 && *created != MPI_COMM_NULL) mark_of_session(*created);
  return result;
}

}  // namespace unisono::adapter
