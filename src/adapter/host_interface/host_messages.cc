// SPDX-License-Identifier: BSD-3-Clause
// Messages between ranks: the host's point-to-point functions on the core's private communicators.
#include <algorithm>

#include "adapter/below/elements.h"
#include "adapter/host_interface/mpi_host.h"
#include "runtime/call/crash_site.h"

namespace unisono::adapter {

namespace {

// Calls `function(count, type, &started)` with the bytes as elements.
template <class Function>
int start(std::size_t bytes, host::Request* request, Function function) {
  const runtime::InsideHost here;
  MPI_Request started = MPI_REQUEST_NULL;
  const Elements elements(static_cast<MPI_Count>(bytes), MPI_BYTE);
  if (elements.error != MPI_SUCCESS) return elements.error;
  const int error = function(elements.count, elements.type, &started);
  *request = widen<host::Request>(started);
  return error;
}

}  // namespace

int MpiHost::isend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                   host::Request* request) {
  return start(bytes, request, [&](int count, MPI_Datatype type, MPI_Request* started) {
    return pmpi.Isend(data, count, type, destination, tag, native(comm), started);
  });
}

int MpiHost::issend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                    host::Request* request) {
  return start(bytes, request, [&](int count, MPI_Datatype type, MPI_Request* started) {
    return pmpi.issend.small(data, count, type, destination, tag, native(comm), started);
  });
}

int MpiHost::irecv(void* data, std::size_t bytes, int source, int tag, host::Comm comm,
                   host::Request* request) {
  const int from = source == host::any_source ? MPI_ANY_SOURCE : source;
  return start(bytes, request, [&](int count, MPI_Datatype type, MPI_Request* started) {
    return pmpi.Irecv(data, count, type, from, tag, native(comm), started);
  });
}

int MpiHost::cancel_receive(host::Request* request) {
  const runtime::InsideHost here;
  MPI_Request cancelled = narrow<MPI_Request>(*request);
  int error = pmpi.Cancel(&cancelled);
  if (error == MPI_SUCCESS) error = pmpi.Wait(&cancelled, MPI_STATUS_IGNORE);
  *request = widen<host::Request>(cancelled);
  return error;
}

int MpiHost::test(host::Request* request, bool* is_done) {
  const runtime::InsideHost here;
  MPI_Request tested = narrow<MPI_Request>(*request);
  int flag = 0;
  const int error = pmpi.Test(&tested, &flag, MPI_STATUS_IGNORE);
  *request = widen<host::Request>(tested);
  *is_done = flag != 0;
  return error;
}

int MpiHost::test_some(int count, host::Request* requests, int* completed_count, int* completed) {
  const runtime::InsideHost here;
  constexpr int most_at_once = 64;
  *completed_count = 0;
  for (int first = 0; first < count; first += most_at_once) {
    const int length = std::min(most_at_once, count - first);
    MPI_Request tested[most_at_once];
    for (int i = 0; i < length; ++i) tested[i] = narrow<MPI_Request>(requests[first + i]);
    int* found = completed + *completed_count;
    int found_count = 0;
    const int error = pmpi.Testsome(length, tested, &found_count, found, MPI_STATUSES_IGNORE);
    if (found_count == MPI_UNDEFINED) found_count = 0;  // no request was active
    for (int i = 0; i < found_count; ++i) {
      requests[first + found[i]] = widen<host::Request>(tested[found[i]]);
      found[i] += first;
    }
    *completed_count += found_count;
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

void MpiHost::progress() {
  if (progress_comm_ == MPI_COMM_NULL) return;
  const runtime::InsideHost here;
  int flag = 0;
  // MPIs stop as soon as they find a message: where one lay already, nothing would go on.
  pmpi.Iprobe(MPI_ANY_SOURCE, tag_of_no_message(), progress_comm_, &flag, MPI_STATUS_IGNORE);
}

}  // namespace unisono::adapter
