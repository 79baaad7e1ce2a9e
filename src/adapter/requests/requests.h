// SPDX-License-Identifier: BSD-3-Clause
// Requests of calls that do not block, persistent ones, and the functions in which programs wait: there those
// calls go on. A request of ours is the host's own in every respect, so it may be mixed with others, freed,
// and asked for its status. Of an MPI_I call it is a generalized request. Of an MPI_..._init call it is a
// persistent receive of nothing from oneself, whose message is sent when the call is over.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "adapter/below/functions.h"
#include "adapter/below/held_types.h"
#include "adapter/requests/device_memory.h"
#include "runtime/runtime.h"

namespace unisono::adapter {

// False where the runtime leaves the call to the host; else *request is the call's, or *error says why there
// is none.
bool start_request(const runtime::Call& call, MPI_Request* request, int* error);

// Starts one of the host's collectives.
using Start = std::function<int(MPI_Request*)>;
// Starts it on what must stay in memory until it is over.
int start_keeping(std::shared_ptr<void> kept, const Start& start, MPI_Request* request);
// A receive and a send of the host's as one request, whose status is the receive's.
int start_both(std::shared_ptr<void> kept, const Start& receive, const Start& send, MPI_Request* request);

// A persistent call in the making: what it holds of the program's, which may free it before the call.
struct PersistentCall {
  std::shared_ptr<runtime::PreparedCall> prepared;  // null: always started by `start`
  bool can_be_checked = false;                      // by a call of the host's (option verify)
  MPI_Comm comm = MPI_COMM_NULL;                    // of the host's calls
  bool is_comm_private = false;
  // Of starts that are the host's (runtime::Prepared); null: they are not counted.
  std::shared_ptr<runtime::HostStarts> host_starts;
  std::uint64_t bytes = 0;
  void count_start() const {
    if (host_starts != nullptr) host_starts->add(bytes);
  }
  Start start;
  HeldTypes types;
  std::vector<std::shared_ptr<void>> arrays;  // of counts and displacements
  // The types of an alltoallw, for the host and for the runtime.
  std::vector<std::vector<MPI_Datatype>> type_lists;
  std::vector<host::Datatype> wide_types;
  std::unique_ptr<StagedCall> staged;  // where `call` works on copies

  PersistentCall() = default;
  PersistentCall(const PersistentCall&) = delete;
  ~PersistentCall();
  bool holds_nothing() const { return types.is_empty() && arrays.empty() && host_starts == nullptr; }
  MPI_Datatype hold(MPI_Datatype type) {
    types.hold(type);
    return type;
  }
  const MPI_Datatype* hold(const MPI_Datatype* list, int count);
  // From now on the host's calls are made on a communicator of their own. Collective.
  int take_private_comm(bool has_topology);
};
int make_persistent(std::unique_ptr<PersistentCall> call, MPI_Request* request);
// The host's own request was made with what `call` holds. (MPICH does not keep the types itself.)
void keep_for_host(std::unique_ptr<PersistentCall> call, MPI_Request request);

// The wrappers of the functions that start and complete requests ...
int start(MPI_Request* request);
int startall(int count, MPI_Request requests[]);
int wait(MPI_Request* request, MPI_Status* status);
int waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status);
int waitsome(int count, MPI_Request requests[], int* completed_count, int completed[], MPI_Status statuses[]);
int test(MPI_Request* request, int* flag, MPI_Status* status);
int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]);
int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status);
int testsome(int count, MPI_Request requests[], int* completed_count, int completed[], MPI_Status statuses[]);
int request_get_status(MPI_Request request, int* flag, MPI_Status* status);
int request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                           MPI_Status* status);
int request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]);
int request_get_status_some(int count, const MPI_Request requests[], int* completed_count, int completed[],
                            MPI_Status statuses[]);
int request_free(MPI_Request* request);
int cancel(MPI_Request* request);
// ... and of the one that frees what calls under way may still need. (communicator_calls.h: MPI_Comm_free.)
int op_free(MPI_Op* op);

// At the end of our life, before the host's: what was kept.
void end_requests();

}  // namespace unisono::adapter
