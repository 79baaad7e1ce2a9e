// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/smpi_host.h"

#include <stdexcept>
#include <vector>

namespace unisono::simgrid {

namespace {

MPI_Comm native(host::Comm comm) {
  return reinterpret_cast<MPI_Comm>(static_cast<std::uintptr_t>(comm));
}

MPI_Request narrow(host::Request request) {
  return reinterpret_cast<MPI_Request>(static_cast<std::uintptr_t>(request));
}

host::Request widen(MPI_Request request) {
  return static_cast<host::Request>(reinterpret_cast<std::uintptr_t>(request));
}

[[noreturn]] void refuse() {
  throw std::logic_error("schedules do not ask this of a host");
}

}  // namespace

const std::string& SmpiHost::library_name() const {
  static const std::string name = "SMPI";
  return name;
}

host::Comm SmpiHost::world() const {
  return static_cast<host::Comm>(reinterpret_cast<std::uintptr_t>(MPI_COMM_WORLD));
}

int SmpiHost::comm_rank(host::Comm comm) {
  int rank = 0;
  MPI_Comm_rank(native(comm), &rank);
  return rank;
}

int SmpiHost::comm_size(host::Comm comm) {
  int size = 0;
  MPI_Comm_size(native(comm), &size);
  return size;
}

// --- Messages ---

int SmpiHost::isend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                    host::Request* request) {
  looks_ = 0;
  MPI_Request started = MPI_REQUEST_NULL;
  const int error =
      MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, destination, tag, native(comm), &started);
  *request = widen(started);
  return error;
}

int SmpiHost::issend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                     host::Request* request) {
  looks_ = 0;
  MPI_Request started = MPI_REQUEST_NULL;
  const int error =
      MPI_Issend(data, static_cast<int>(bytes), MPI_BYTE, destination, tag, native(comm), &started);
  *request = widen(started);
  return error;
}

int SmpiHost::irecv(void* data, std::size_t bytes, int source, int tag, host::Comm comm,
                    host::Request* request) {
  looks_ = 0;
  MPI_Request started = MPI_REQUEST_NULL;
  const int error =
      MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, source == host::any_source ? MPI_ANY_SOURCE : source,
                tag, native(comm), &started);
  *request = widen(started);
  return error;
}

int SmpiHost::cancel_receive(host::Request* request) {
  MPI_Request cancelled = narrow(*request);
  int error = MPI_Cancel(&cancelled);
  if (error == MPI_SUCCESS) error = MPI_Wait(&cancelled, MPI_STATUS_IGNORE);
  *request = widen(cancelled);
  return error;
}

// An unsuccessful MPI_Test or MPI_Testsome takes virtual time (smpi/test: 100 us), and so does MPI_Waitsome.
// A look that finds nothing costs a real rank next to none. So looks are not passed on: virtual time stands
// still meanwhile. An executor that keeps looking has nothing else to do, and waits.
bool SmpiHost::may_wait() {
  constexpr int looks_before_wait = 100;
  if (++looks_ < looks_before_wait) return false;
  looks_ = 0;
  return true;
}

int SmpiHost::test(host::Request* request, bool* is_done) {
  *is_done = may_wait();
  if (!*is_done) return MPI_SUCCESS;
  MPI_Request waited_for = narrow(*request);
  const int error = MPI_Wait(&waited_for, MPI_STATUS_IGNORE);
  *request = widen(waited_for);
  return error;
}

int SmpiHost::test_some(int count, host::Request* requests, int* completed_count, int* completed) {
  *completed_count = 0;
  if (!may_wait()) return MPI_SUCCESS;
  std::vector<MPI_Request> waited_for;
  for (int i = 0; i < count; ++i) waited_for.push_back(narrow(requests[i]));
  int index = MPI_UNDEFINED;
  const int error = MPI_Waitany(count, waited_for.data(), &index, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS || index == MPI_UNDEFINED) return error;
  requests[index] = widen(waited_for[static_cast<std::size_t>(index)]);
  completed[0] = index;
  *completed_count = 1;
  return MPI_SUCCESS;
}

int SmpiHost::barrier(host::Comm comm) {
  return MPI_Barrier(native(comm));
}

int SmpiHost::abort(host::Comm comm, int exit_code) {
  return MPI_Abort(native(comm), exit_code);
}

// --- What set-ups ask for: there are none here ---

int SmpiHost::comm_split(host::Comm, int, int, host::Comm*) {
  refuse();
}
int SmpiHost::comm_free(host::Comm*) {
  refuse();
}
int SmpiHost::translate_ranks(host::Comm, host::Comm, std::vector<int>*) {
  refuse();
}
int SmpiHost::on_comm_free(host::Comm, void (*)(void*), void*) {
  refuse();
}
int SmpiHost::neighbors(host::Comm, host::TopologyNeighbors*) {
  refuse();
}
int SmpiHost::agree(std::uint64_t*, int, host::AgreeOp, host::Comm) {
  refuse();
}
int SmpiHost::bcast_bytes(void*, std::size_t, int, host::Comm) {
  refuse();
}
int SmpiHost::allgather_bytes(const void*, std::size_t, void*, host::Comm) {
  refuse();
}
int SmpiHost::start_allgather_bytes(const void*, std::size_t, void*, host::Comm, host::Request*) {
  refuse();
}
int SmpiHost::start_bcast_bytes(void*, std::size_t, int, host::Comm, host::Request*) {
  refuse();
}
int SmpiHost::gather_bytes(const void*, std::size_t, void*, int, host::Comm) {
  refuse();
}
int SmpiHost::type_info(host::Datatype, host::TypeInfo*) {
  refuse();
}
int SmpiHost::pack(const void*, std::size_t, host::Datatype, void*, std::size_t) {
  refuse();
}
int SmpiHost::unpack(const void*, std::size_t, void*, std::size_t, host::Datatype) {
  refuse();
}
ReduceOp SmpiHost::reduce_op(host::Op) {
  refuse();
}
host::Op SmpiHost::predefined_op(ReduceOp) {
  refuse();
}
bool SmpiHost::is_commutative(host::Op) {
  refuse();
}
bool SmpiHost::is_defined(host::Op, host::Datatype) {
  refuse();
}
int SmpiHost::reduce_local(const void*, void*, std::size_t, host::Datatype, host::Op) {
  refuse();
}

}  // namespace unisono::simgrid
