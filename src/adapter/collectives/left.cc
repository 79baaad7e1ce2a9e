// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/collectives/left.h"

#include <optional>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"

namespace unisono::adapter {
namespace {

// Of intercommunicators the wrappers leave what they have asked the host about already: it is not asked about
// one here that may be no communicator.
bool is_left_unseen(Operation operation) {
  return is_rooted(operation) || operation == Operation::alltoallw ||
         operation == Operation::reduce_scatter || is_neighborhood(operation);
}

bool is_intercommunicator(MPI_Comm comm) {
  int is_inter = 0;
  return comm != MPI_COMM_NULL && widen<std::uintptr_t>(comm) != 0 &&
         pmpi.Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter != 0;
}

// Nothing: the call is not to be counted.
std::optional<runtime::NativeReason> reason_of(const CallSite& site) {
  if (nesting != 0 || !runtime::is_running()) return std::nullopt;
  if (!is_open.load(std::memory_order_relaxed)) return runtime::NativeReason::disabled;
  if (is_left_unseen(site.operation) && is_intercommunicator(site.comm))
    return runtime::NativeReason::intercommunicator;
  return runtime::NativeReason::arguments;
}

}  // namespace

void count_left(const CallSite& site) {
  if (const auto reason = reason_of(site)) runtime::left_to_host(site.operation, *reason);
}

std::shared_ptr<runtime::HostStarts> starts_left(const CallSite& site) {
  const auto reason = reason_of(site);
  return reason ? runtime::starts_of_host(site.operation, *reason) : nullptr;
}

}  // namespace unisono::adapter
