// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/requests/host_calls.h"

#include <atomic>
#include <deque>
#include <utility>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/requests/failures.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

Mutex host_call_mutex;
std::deque<HostCall> host_calls UNISONO_GUARDED_BY(host_call_mutex);
std::atomic<int> host_call_count{0};

bool take_host_call(HostCall* call) {
  const LockGuard lock(host_call_mutex);
  if (host_calls.empty()) return false;
  *call = std::move(host_calls.front());
  host_calls.pop_front();
  return true;
}

}  // namespace

void look_after(HostCall call) {
  const LockGuard lock(host_call_mutex);
  host_calls.push_back(std::move(call));
  host_call_count.fetch_add(1, std::memory_order_release);
}

bool has_host_calls() {
  return host_call_count.load(std::memory_order_relaxed) != 0;
}

bool look_at_host_calls() {
  if (!has_host_calls()) return false;
  std::size_t to_look_at = 0;
  {
    const LockGuard lock(host_call_mutex);
    to_look_at = host_calls.size();
  }
  bool has_ended = false;
  // One at a time, without the lock: the program's error handler may run, and may never return.
  for (HostCall call; to_look_at-- > 0 && take_host_call(&call);) {
    int flag = 0, error = MPI_SUCCESS;
    {
      const Outside outside;
      error = pmpi.Test(&call.request, &flag, call.status);
    }
    if (error == MPI_SUCCESS && flag == 0) {
      const LockGuard lock(host_call_mutex);
      host_calls.push_back(std::move(call));
      continue;
    }
    has_ended = true;
    host_call_count.fetch_sub(1, std::memory_order_release);
    const HandledErrors handled;
    call.completion.call(call.completion.context, error);
  }
  return has_ended;
}

}  // namespace unisono::adapter
