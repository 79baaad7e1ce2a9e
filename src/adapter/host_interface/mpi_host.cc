// SPDX-License-Identifier: BSD-3-Clause
// Identity, communicators, set-up collectives and errors; messages and data are in host_messages.cc and
// host_data.cc.
#include "adapter/host_interface/mpi_host.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/gpu.h"
#include "adapter/below/marks.h"
#include "adapter/below/nesting.h"
#include "adapter/below/place.h"
#include "adapter/below/private_comm.h"
#include "adapter/large_counts/large.h"
#include "base/clock.h"
#include "runtime/call/crash_site.h"

namespace unisono::adapter {
namespace {

// What on_comm_free was given; an attribute's value. Several for one communicator form a list.
struct FreeCallback {
  void (*callback)(void*);
  void* state;
  std::unique_ptr<FreeCallback> next;
};

int free_keyval = MPI_KEYVAL_INVALID;

int copy_no_attribute(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int run_free_callbacks(MPI_Comm, int, void* value, void*) {
  std::unique_ptr<FreeCallback> first(static_cast<FreeCallback*>(value));
  for (const FreeCallback* entry = first.get(); entry != nullptr; entry = entry->next.get()) {
    entry->callback(entry->state);
  }
  return MPI_SUCCESS;
}

MPI_Op native_op(host::AgreeOp op) {
  switch (op) {
    case host::AgreeOp::band:
      return MPI_BAND;
    case host::AgreeOp::bor:
      return MPI_BOR;
    case host::AgreeOp::min:
      return MPI_MIN;
    case host::AgreeOp::max:
      return MPI_MAX;
    case host::AgreeOp::sum:
      break;
  }
  return MPI_SUM;
}

// The text from `begin` on, up to the next of `ends`.
std::string word_at(const std::string& text, std::size_t begin, const char* ends) {
  begin = text.find_first_not_of(" \t", begin);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

}  // namespace

std::string short_library_name(const std::string& version) {
  const struct {
    const char* prefix;
    const char* name;
  } known[] = {
      {"Open MPI v", "Open MPI "}, {"Intel(R) MPI Library ", "Intel MPI "}, {"MPICH Version:", "MPICH "}};
  for (const auto& library : known) {
    const std::size_t found = version.find(library.prefix);
    if (found == std::string::npos) continue;
    return library.name + word_at(version, found + std::string(library.prefix).size(), " ,\t\n");
  }
  return word_at(version, 0, ",\n");
}

void MpiHost::begin() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (pmpi.Get_library_version(version, &length) == MPI_SUCCESS) library_name_ = short_library_name(version);
  int provided = MPI_THREAD_SINGLE;
  is_thread_multiple_ = pmpi.Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE;
  int* largest = nullptr;
  int is_set = 0;
  const int error = pmpi.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &is_set);
  if (error == MPI_SUCCESS && is_set != 0) largest_tag_of_mpi_ = *largest;
  // Errors of what is done for the program's calls are raised where it made them, not here.
  if (pmpi.Comm_split(MPI_COMM_SELF, 0, 0, &self_comm_) != MPI_SUCCESS) return;
  pmpi.Comm_set_errhandler(self_comm_, MPI_ERRORS_RETURN);
  try_types_on(self_comm_);
}

void MpiHost::begin_across(const MpiHost& first, MPI_Comm comm) {
  across_ = comm;
  library_name_ = first.library_name_;
  is_thread_multiple_ = first.is_thread_multiple_;
  largest_tag_of_mpi_ = first.largest_tag_of_mpi_;
  if (pmpi.Comm_split(MPI_COMM_SELF, 0, 0, &self_comm_) == MPI_SUCCESS)
    pmpi.Comm_set_errhandler(self_comm_, MPI_ERRORS_RETURN);
}

// The first one is never destroyed while there is an MPI.
MpiHost::~MpiHost() {
  if (is_across() && self_comm_ != MPI_COMM_NULL) pmpi.Comm_free(&self_comm_);
}

void MpiHost::end() {
  try_types_on(MPI_COMM_NULL);
  if (self_comm_ != MPI_COMM_NULL) pmpi.Comm_free(&self_comm_);
}

bool MpiHost::takes_device_memory() {
  return are_gpus_known_to_host();
}

int MpiHost::comm_rank(host::Comm comm) {
  int rank = 0;
  pmpi.Comm_rank(native(comm), &rank);
  return rank;
}

int MpiHost::comm_size(host::Comm comm) {
  int size = 0;
  pmpi.Comm_size(native(comm), &size);
  return size;
}

bool MpiHost::is_intercommunicator(host::Comm comm) {
  int is_inter = 0;
  return pmpi.Comm_test_inter(native(comm), &is_inter) == MPI_SUCCESS && is_inter != 0;
}

// All ranks once more, in their order, keep the topology: collectives of neighbours are made there.
int MpiHost::comm_split(host::Comm parent, int color, int key, host::Comm* created) {
  MPI_Comm comm = MPI_COMM_NULL;
  int error = pmpi.Comm_split(native(parent), color < 0 ? MPI_UNDEFINED : color, key, &comm);
  if (error == MPI_SUCCESS && comm != MPI_COMM_NULL && is_copy(parent, widen<host::Comm>(comm)))
    error = take_topology(native(parent), &comm);
  return error == MPI_SUCCESS ? adopt(parent, comm, created) : error;
}

bool is_revoked(MPI_Comm comm) {
  int is = 0;
  return comm != MPI_COMM_NULL && pmpi.Comm_is_revoked != nullptr &&
         pmpi.Comm_is_revoked(comm, &is) == MPI_SUCCESS && is != 0;
}

// Waits for a call that was started, unless `comm` is revoked: the request is left then. Between its looks it
// gives the core away: where ranks share cores, a host that waits without that spends a time slice of the
// system's on each message. (MPICH 4, 8 ranks on 2 cores: 28 ms for a small MPI_Allreduce, and less than one
// by such looks.) Whoever waits for long sleeps, since those for whom it waits have work to do. Where MPICH 4
// tolerates faults its MPI_Test ends the program as long as a request is not complete.
int MpiHost::finish(int error, MPI_Request* request, MPI_Comm comm) const {
  constexpr double sleepless_s = 50e-6, least_sleep_s = 30e-6, most_sleep_s = 1e-3;
  const runtime::InsideHost here;
  const bool may_test = !is_fault_tolerant();
  const double begin_s = now_s();
  int is_done = 0;
  while (error == MPI_SUCCESS) {
    error = may_test ? pmpi.Test(request, &is_done, MPI_STATUS_IGNORE)
                     : pmpi.Request_get_status(*request, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) break;
    const double waited_s = now_s() - begin_s;
    if (waited_s < sleepless_s) {
      sched_yield();
    } else {
      if (is_revoked(comm)) return MPI_ERR_OTHER;
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::clamp(waited_s / 8, least_sleep_s, most_sleep_s)));
    }
  }
  return error == MPI_SUCCESS && !may_test ? pmpi.Wait(request, MPI_STATUS_IGNORE) : error;
}

int MpiHost::comm_copy(host::Comm parent, host::Comm* created) {
  // A duplicate would copy the program's attributes.
  if (is_across()) return comm_split(parent, 0, comm_rank(parent), created);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = finish(pmpi.Comm_idup(native(parent), &comm, &request), &request);
  return error == MPI_SUCCESS ? adopt(parent, comm, created) : error;
}

int MpiHost::adopt(host::Comm parent, MPI_Comm made, host::Comm* created) {
  *created = widen<host::Comm>(made);
  if (made == MPI_COMM_NULL) return MPI_SUCCESS;
  if (progress_comm_ == MPI_COMM_NULL && parent == world()) progress_comm_ = made;
  return pmpi.Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}

bool MpiHost::is_copy(host::Comm parent, host::Comm made) {
  std::vector<int> ranks;
  if (translate_ranks(parent, made, &ranks) != MPI_SUCCESS) return false;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<int>(i)) return false;
  }
  return true;
}

int MpiHost::comm_free(host::Comm* comm) {
  MPI_Comm freed = native(*comm);
  if (freed == progress_comm_) progress_comm_ = MPI_COMM_NULL;
  const int error = pmpi.Comm_free(&freed);
  *comm = widen<host::Comm>(freed);
  return error;
}

int MpiHost::translate_ranks(host::Comm from, host::Comm to, std::vector<int>* ranks) {
  MPI_Group from_group = MPI_GROUP_NULL;
  MPI_Group to_group = MPI_GROUP_NULL;
  int error = pmpi.Comm_group(native(from), &from_group);
  if (error != MPI_SUCCESS) return error;
  error = pmpi.Comm_group(native(to), &to_group);
  if (error == MPI_SUCCESS) {
    std::vector<int> own(static_cast<std::size_t>(comm_size(from)));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int>(i);
    ranks->resize(own.size());
    error = pmpi.Group_translate_ranks(from_group, static_cast<int>(own.size()), own.data(), to_group,
                                       ranks->data());
    for (int& rank : *ranks) {
      if (rank == MPI_UNDEFINED) rank = host::no_rank;
    }
    pmpi.Group_free(&to_group);
  }
  pmpi.Group_free(&from_group);
  return error;
}

int MpiHost::on_comm_free(host::Comm comm, void (*callback)(void*), void* state) {
  if (free_keyval == MPI_KEYVAL_INVALID) {
    const int error = pmpi.Comm_create_keyval(copy_no_attribute, run_free_callbacks, &free_keyval, nullptr);
    if (error != MPI_SUCCESS) return error;
  }
  void* value = nullptr;
  int is_set = 0;
  int error = pmpi.Comm_get_attr(native(comm), free_keyval, static_cast<void*>(&value), &is_set);
  if (error != MPI_SUCCESS) return error;
  auto entry = std::make_unique<FreeCallback>(FreeCallback{callback, state, nullptr});
  if (is_set != 0) {
    // The value that is there stays: replacing it would run its callbacks now.
    auto* first = static_cast<FreeCallback*>(value);
    entry->next = std::move(first->next);
    first->next = std::move(entry);
    return MPI_SUCCESS;
  }
  error = pmpi.Comm_set_attr(native(comm), free_keyval, entry.get());
  if (error == MPI_SUCCESS) static_cast<void>(entry.release());
  return error;
}

void detach_free_callbacks(MPI_Comm comm) {
  delete_attribute(comm, free_keyval);
}

std::string MpiHost::comm_name(host::Comm comm) {
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0;
  return pmpi.Comm_get_name(native(comm), name, &length) == MPI_SUCCESS ? std::string(name) : std::string();
}

host::Hint MpiHost::reproducible_hint(host::Comm comm) {
  return marks_of(native(comm)).reproducible;
}

bool MpiHost::has_ordered_persistent(host::Comm comm) {
  return marks_of(native(comm)).ordered_persistent == host::Hint::yes;
}

bool MpiHost::has_hints(host::Comm comm) {
  return marks_of(native(comm)).has_info;
}

// This is not MPI_Allreduce, for Intel MPI's sake (2021.18, more than a few ranks). Its Allreduce of half a
// KiB may overwrite a Bcast before it on the same communicator, which slow ranks have not read yet. The
// program's own calls in that order go wrong without Unisono; ours must not make others do so.
int MpiHost::agree(std::uint64_t* values, int count, host::AgreeOp op, host::Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (is_revoked(native(comm))) return MPI_ERR_OTHER;
  const auto length = static_cast<std::size_t>(count);
  auto agreed = std::make_unique<std::uint64_t[]>(length);
  std::copy_n(values, length, agreed.get());
  const int error = finish(pmpi.allreduce.start_small(MPI_IN_PLACE, agreed.get(), count, MPI_UINT64_T,
                                                      native_op(op), native(comm), &request),
                           &request, native(comm));
  std::copy_n(agreed.get(), length, values);
  // Where nobody waits any more the host may still write there.
  if (request != MPI_REQUEST_NULL) static_cast<void>(agreed.release());
  return error;
}

int MpiHost::bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm) {
  host::Request request{};
  const int error = start_bcast_bytes(data, bytes, root, comm, &request);
  return error == MPI_SUCCESS ? wait(&request) : error;
}

int MpiHost::start_bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm,
                               host::Request* request) {
  MPI_Request started = MPI_REQUEST_NULL;
  const int error = large::bcast(data, static_cast<MPI_Count>(bytes), MPI_BYTE, root, native(comm), &started);
  *request = widen<host::Request>(started);
  return error;
}

int MpiHost::allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm) {
  host::Request request{};
  const int error = start_allgather_bytes(in, bytes, out, comm, &request);
  return error == MPI_SUCCESS ? wait(&request) : error;
}

int MpiHost::wait(host::Request* request) {
  MPI_Request waited_for = narrow<MPI_Request>(*request);
  const int error = finish(MPI_SUCCESS, &waited_for);
  *request = widen<host::Request>(waited_for);
  return error;
}

int MpiHost::start_allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm,
                                   host::Request* request) {
  const auto count = static_cast<MPI_Count>(bytes);
  MPI_Request started = MPI_REQUEST_NULL;
  const int error = large::allgather(in, count, MPI_BYTE, out, count, MPI_BYTE, native(comm), &started);
  *request = widen<host::Request>(started);
  return error;
}

int MpiHost::gather_bytes(const void* in, std::size_t bytes, void* out, int root, host::Comm comm) {
  const auto count = static_cast<MPI_Count>(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  return finish(large::gather(in, count, MPI_BYTE, out, count, MPI_BYTE, root, native(comm), &request),
                &request);
}

int MpiHost::barrier(host::Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  return finish(pmpi.barrier.start_small(native(comm), &request), &request);
}

int MpiHost::call_error_handler(host::Comm comm, int error_code) {
  const Outside outside;  // what the handler calls is the program's, and it may never return
  pmpi.Comm_call_errhandler(native(comm), error_code);
  return error_code;
}

int MpiHost::abort(host::Comm comm, int exit_code) {
  const runtime::InsideHost here;
  return pmpi.Abort(native(comm), exit_code);
}

}  // namespace unisono::adapter
