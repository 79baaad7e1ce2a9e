// SPDX-License-Identifier: BSD-3-Clause
#include "host/mpi/communicators.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "host/mpi/functions.h"
#include "host/mpi/life.h"
#include "host/mpi/mpi_host.h"
#include "host/mpi/pending.h"
#include "host/mpi/place.h"
#include "runtime/runtime.h"

namespace unisono::host::mpi {
namespace {

std::vector<Ending>& endings() {
  thread_local std::vector<Ending> all;
  return all;
}

// --- Communicators of sessions: an attribute that says nothing but that it is there ---

int session_keyval = MPI_KEYVAL_INVALID;
// Most programs make none.
std::atomic<bool> has_session_communicators{false};

int inherit(MPI_Comm, int, void*, void* value, void* copy, int* is_copied) {
  *static_cast<void**>(copy) = value;
  *is_copied = 1;
  return MPI_SUCCESS;
}

int delete_nothing(MPI_Comm, int, void*, void*) {
  return MPI_SUCCESS;
}

void mark_of_session(MPI_Comm comm) {
  const Nested nested;
  if (session_keyval == MPI_KEYVAL_INVALID) return;
  pmpi.Comm_set_attr(comm, session_keyval, nullptr);
  has_session_communicators.store(true, std::memory_order_release);
}

// What is made of a session's communicator is the session's too. (A duplicate inherits the attribute.)
int made(int result, MPI_Comm of, const MPI_Comm* created) {
  if (result != MPI_SUCCESS || nesting != 0 || !has_session_communicators.load(std::memory_order_acquire))
    return result;
  if (*created != MPI_COMM_NULL && is_of_session(of)) mark_of_session(*created);
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
  {
    const Nested nested;
    runtime::begin_freeing(widen<Comm>(freed));
    const bool is_session = is_of_session(freed);
    const KeptHint hint = take_hint(freed);
    detach_place(freed);
    detach_free_callbacks(freed);
    delete_attribute(freed, session_keyval);
    endings().push_back({freed, hint, is_session});
  }
  const int result = host_free(comm);
  const bool is_freed = result == MPI_SUCCESS;
  freed_communicators.fetch_add(1, std::memory_order_relaxed);
  if (is_freed) forget_handler_of(freed);
  const auto ending = std::find_if(endings().rbegin(), endings().rend(),
                                   [&](const Ending& entry) { return entry.comm == freed; });
  const Ending kept = *ending;
  endings().erase(std::next(ending).base());
  const Nested nested;
  if (!is_freed) {  // a delete callback has refused
    restore_hint(freed, kept.hint);
    if (kept.is_session) mark_of_session(freed);
  }
  runtime::end_freeing(widen<Comm>(freed), is_freed);
  return result;
}

}  // namespace

void begin_communicators() {
  if (pmpi.Comm_create_keyval(inherit, delete_nothing, &session_keyval, nullptr) != MPI_SUCCESS)
    session_keyval = MPI_KEYVAL_INVALID;
}

const Ending* find_ending(MPI_Comm comm) {
  const std::vector<Ending>& all = endings();
  const auto found =
      std::find_if(all.rbegin(), all.rend(), [&](const Ending& entry) { return entry.comm == comm; });
  return found == all.rend() ? nullptr : &*found;
}

bool is_of_session(MPI_Comm comm) {
  if (!has_session_communicators.load(std::memory_order_acquire)) return false;
  if (const Ending* ending = find_ending(comm); ending != nullptr) return ending->is_session;
  void* value = nullptr;
  int is_set = 0;
  return pmpi.Comm_get_attr(comm, session_keyval, static_cast<void*>(&value), &is_set) == MPI_SUCCESS &&
         is_set != 0;
}

int comm_free(MPI_Comm* comm) {
  return free_by(pmpi.Comm_free, comm);
}

int comm_disconnect(MPI_Comm* comm) {
  return free_by(pmpi.Comm_disconnect, comm);
}

int comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* created) {
  return made(pmpi.Comm_create(comm, group, created), comm, created);
}

int comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* created) {
  return made(pmpi.Comm_create_group(comm, group, tag, created), comm, created);
}

int comm_split(MPI_Comm comm, int color, int key, MPI_Comm* created) {
  return made(pmpi.Comm_split(comm, color, key, created), comm, created);
}

int comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* created) {
  const int result = made(pmpi.Comm_split_type(comm, type, key, info, created), comm, created);
  return give_hints(result, info, created);
}

int cart_create(MPI_Comm comm, int count, const int sizes[], const int periods[], int reorder,
                MPI_Comm* created) {
  return made(pmpi.Cart_create(comm, count, sizes, periods, reorder, created), comm, created);
}

int cart_sub(MPI_Comm comm, const int kept[], MPI_Comm* created) {
  return made(pmpi.Cart_sub(comm, kept, created), comm, created);
}

int graph_create(MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                 MPI_Comm* created) {
  return made(pmpi.Graph_create(comm, count, index, edges, reorder, created), comm, created);
}

int dist_graph_create(MPI_Comm comm, int count, const int sources[], const int degrees[],
                      const int destinations[], const int weights[], MPI_Info info, int reorder,
                      MPI_Comm* created) {
  const int result =
      pmpi.Dist_graph_create(comm, count, sources, degrees, destinations, weights, info, reorder, created);
  return give_hints(made(result, comm, created), info, created);
}

int dist_graph_create_adjacent(MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
                               const int destinations[], const int out_weights[], MPI_Info info, int reorder,
                               MPI_Comm* created) {
  const int result = pmpi.Dist_graph_create_adjacent(comm, in, sources, in_weights, out, destinations,
                                                     out_weights, info, reorder, created);
  return give_hints(made(result, comm, created), info, created);
}

int intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag,
                     MPI_Comm* created) {
  return made(pmpi.Intercomm_create(local, local_leader, peer, remote_leader, tag, created), local, created);
}

int intercomm_merge(MPI_Comm inter, int is_high, MPI_Comm* created) {
  return made(pmpi.Intercomm_merge(inter, is_high, created), inter, created);
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

}  // namespace unisono::host::mpi
