// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/revoked.h"

#include "adapter/messages/own_requests.h"

namespace unisono::adapter::messages {
namespace {

#if defined(MPI_ERR_REVOKED)
constexpr int revoked = MPI_ERR_REVOKED;
#else
constexpr int revoked = MPI_ERR_COMM;
#endif

}  // namespace

bool is_time_to_ask_whether_revoked() {
  static thread_local unsigned looks = 0;
  constexpr unsigned looks_between = 61;  // a prime: of requests that are asked for in turn each comes
  return pmpi.Comm_is_revoked != nullptr && ++looks % looks_between == 0;
}

bool is_revoked_by_now(MPI_Comm comm) {
  return is_time_to_ask_whether_revoked() && is_revoked(comm);
}

int raise_revoked(MPI_Comm comm) {
  return raise_on(comm, revoked);
}

void end_if_revoked(runtime::MessageRequest* request) UNISONO_NOT_CHECKED {
  if (pmpi.Comm_is_revoked == nullptr || is_over(request)) return;
  if (request->kind == runtime::MessageRequest::Kind::send) return;
  const auto comm = narrow<MPI_Comm>(request->callers.comm);
  const OwnComm* own = own_comm(comm);
  // Its communicator may have been freed, and its handle be another one's.
  if (own == nullptr || own->context != request->envelope.context || !is_revoked(comm)) return;
  layer->endpoint().cancel(request);
  if (request->is_cancelled) request->callers.error = revoked;
}

}  // namespace unisono::adapter::messages
