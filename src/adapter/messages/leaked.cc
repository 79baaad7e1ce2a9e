// SPDX-License-Identifier: BSD-3-Clause
// Requests of ours that come to the MPI past Unisono, by a library that is linked so that it finds the MPI's
// functions first. Mostly they are numbers that the MPI refuses. Open MPI reads the memory that a request is.
// So each place begins as one that the MPI has made itself: a generalized request that is over, whose
// functions say what is wrong. It is an error then, and nothing waits for it.
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "adapter/messages/layer.h"
#include "adapter/messages/message_calls.h"
#include "base/log.h"

namespace unisono::adapter::messages {

#if defined(UNISONO_FAMILY_OPENMPI)
namespace {

constexpr std::size_t object_bytes = runtime::RequestTable::front_bytes;

int refuse_leaked() {
  log::warning_once("a request of a message that Unisono carries has come to the MPI past Unisono");
  return MPI_ERR_REQUEST;
}
int tell_status(void*, MPI_Status* status) {
  pmpi.Status_set_elements(status, MPI_BYTE, 0);
  pmpi.Status_set_cancelled(status, 0);
  status->MPI_ERROR = refuse_leaked();
  return status->MPI_ERROR;
}
int let_go(void*) {
  return MPI_SUCCESS;
}
int refuse_to_cancel(void*, int) {
  return refuse_leaked();
}

// What lies at an address of the MPI's, which may be less: then nothing is read.
bool read_object(MPI_Request request, std::vector<std::byte>* into) {
  into->resize(object_bytes);
  const iovec own = {into->data(), object_bytes}, from = {reinterpret_cast<void*>(request), object_bytes};
  return process_vm_readv(getpid(), &own, 1, &from, 1, 0) == static_cast<ssize_t>(object_bytes);
}

// Where the object says how many hold it: one less when it is over. Less than 0: that is not known.
int find_holders(const std::vector<std::byte>& before, const std::vector<std::byte>& over) {
  int found = -1;
  for (std::size_t at = 0; at < object_bytes; at += sizeof(int)) {
    int was = 0, is = 0;
    std::memcpy(&was, &before[at], sizeof was);
    std::memcpy(&is, &over[at], sizeof is);
    if (was != 2 || is != 1) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(at);
  }
  return found;
}

}  // namespace

void begin_leaked() {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<std::byte> before, over;
  if (pmpi.Grequest_start(tell_status, let_go, refuse_to_cancel, nullptr, &request) != MPI_SUCCESS) return;
  MPI_Request freed = request;
  const bool is_read = read_object(request, &before);
  pmpi.Grequest_complete(request);
  const int holders = is_read && read_object(request, &over) ? find_holders(before, over) : -1;
  pmpi.Request_free(&freed);
  if (holders < 0) return;
  // The MPI never gives it back to its own memory.
  constexpr int many = 1 << 30;
  std::memcpy(&over[static_cast<std::size_t>(holders)], &many, sizeof many);
  const BiasedGuard guard(layer->lock());
  layer->endpoint().requests().put_in_front(std::move(over));
}
#else
void begin_leaked() {}
#endif

}  // namespace unisono::adapter::messages
