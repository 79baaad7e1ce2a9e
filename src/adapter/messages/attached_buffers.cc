// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/attached_buffers.h"

#include <dlfcn.h>

#include <climits>
#include <vector>

#include "adapter/below/elements.h"
#include "adapter/below/nesting.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"
#include "base/mutex.h"

namespace unisono::adapter::messages {
namespace {

struct Sent {
  runtime::MessageRequest* request;
  std::uint64_t bytes;
};

Mutex mutex;
bool is_attached UNISONO_GUARDED_BY(mutex) = false, is_unlimited UNISONO_GUARDED_BY(mutex) = false;
std::uint64_t attached_bytes UNISONO_GUARDED_BY(mutex) = 0, used_bytes UNISONO_GUARDED_BY(mutex) = 0;
std::vector<Sent>& all_sent() UNISONO_REQUIRES(mutex) {
  static auto* sent = new std::vector<Sent>;
  return *sent;
}

// What has left the buffer leaves room.
void reclaim() UNISONO_REQUIRES(mutex) {
  const BiasedGuard guard(layer->lock());
  std::erase_if(all_sent(), [&](const Sent& sent) UNISONO_NOT_CHECKED {
    if (!sent.request->is_done) return false;
    used_bytes -= sent.bytes;
    layer->endpoint().release(sent.request);
    return true;
  });
}

bool is_empty() {
  const LockGuard lock(mutex);
  reclaim();
  return all_sent().empty();
}

// Since MPI 4.1 a communicator may have a buffer of its own, of which nothing is known here.
bool may_have_others() {
  static const bool may = dlsym(pmpi.library, "PMPI_Comm_attach_buffer") != nullptr;
  return may;
}

void attach([[maybe_unused]] const void* memory, std::uint64_t bytes) {
  const LockGuard lock(mutex);
  is_attached = true;
  attached_bytes = bytes;
#ifdef MPI_BUFFER_AUTOMATIC
  is_unlimited = memory == MPI_BUFFER_AUTOMATIC;
#endif
}

template <class Size>
int attach_to_host(void* memory, Size size) {
  if constexpr (std::is_same_v<Size, int>) {
    return pmpi.Buffer_attach(memory, size);
  } else {
    // A part of it is a buffer too.
    return pmpi.Buffer_attach_c != nullptr
               ? pmpi.Buffer_attach_c(memory, size)
               : pmpi.Buffer_attach(memory, fits(size) ? narrowed(size) : INT_MAX);
  }
}

template <class Size>
int buffer_attach(void* memory, Size size) {
  const int error = attach_to_host(memory, size);
  if (error == MPI_SUCCESS) attach(memory, static_cast<std::uint64_t>(size));
  return error;
}

template <class Size>
int detach_from_host(void* memory, Size* size) {
  if constexpr (std::is_same_v<Size, int>) {
    return pmpi.Buffer_detach(memory, size);
  } else {
    if (pmpi.Buffer_detach_c != nullptr) return pmpi.Buffer_detach_c(memory, size);
    int small = 0;
    const int error = pmpi.Buffer_detach(memory, &small);
    *size = small;
    return error;
  }
}

// It ends when all that it held has left.
template <class Size>
int buffer_detach(void* memory, Size* size) {
  if (is_on()) {
    const int lost = wait_until_so([] { return is_empty(); });
    if (lost != MPI_SUCCESS) return lost;
  }
  const int error = detach_from_host(memory, size);
  const LockGuard lock(mutex);
  if (error == MPI_SUCCESS) is_attached = is_unlimited = false;
  return error;
}

// What is in the buffer lies in memory of Unisono's, so that the program's is free at once.
void flush() {
  const LockGuard lock(mutex);
  used_bytes = 0;
  for (Sent& sent : all_sent()) sent.bytes = 0;
}

// Open MPI and MPICH 4 have no function for it: their buffer is empty when it can be detached.
int flush_by_detaching() {
  {
    const LockGuard lock(mutex);
    if (!is_attached) return MPI_SUCCESS;
  }
  void* memory = nullptr;
  MPI_Count bytes = 0;
  const int error = detach_from_host(static_cast<void*>(&memory), &bytes);
  return error != MPI_SUCCESS ? error : attach_to_host(memory, bytes);
}

int buffer_flush() {
  if (is_on()) flush();
  return pmpi.Buffer_flush == nullptr ? flush_by_detaching() : pmpi.Buffer_flush();
}
int buffer_iflush(MPI_Request* request) {
  if (is_on()) flush();
  if (pmpi.Buffer_iflush != nullptr) return pmpi.Buffer_iflush(request);
  const int error = buffer_flush();
  // A request that is over.
  return error != MPI_SUCCESS
             ? error
             : pmpi.irecv.small(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
}

}  // namespace

namespace {

bool has_room_in_buffer(std::uint64_t bytes) {
  const LockGuard lock(mutex);
  if (!is_attached) return may_have_others();
  reclaim();
  return is_unlimited || used_bytes + bytes <= attached_bytes;
}

void leave_to_buffer(runtime::MessageRequest* request, std::uint64_t bytes) {
  const LockGuard lock(mutex);
  // Without MPI_BSEND_OVERHEAD: the program's MPI may have a smaller one than this header says.
  all_sent().push_back({request, bytes});
  used_bytes += bytes;
}

}  // namespace

int send_buffered(const OwnComm& own, const Data& data, int to, int tag) {
  if (!has_room_in_buffer(data.bytes)) return raise_on(own.comm, MPI_ERR_BUFFER);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* request = new_send(own, data, to, tag, Mode::buffered, &error);
  if (request != nullptr) leave_to_buffer(request, data.bytes);
  return error;
}

void add_buffers(UnisonoFunction* functions) {
  functions[unisono_slot_Buffer_attach] = erased(buffer_attach<int>);
  functions[unisono_slot_Buffer_detach] = erased(buffer_detach<int>);
  functions[unisono_slot_Buffer_flush] = erased(buffer_flush);
  functions[unisono_slot_Buffer_iflush] = erased(buffer_iflush);
  functions[unisono_slot_Buffer_attach_c] = erased(buffer_attach<MPI_Count>);
  functions[unisono_slot_Buffer_detach_c] = erased(buffer_detach<MPI_Count>);
}

}  // namespace unisono::adapter::messages
