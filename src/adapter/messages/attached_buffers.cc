// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/attached_buffers.h"

#include <limits>
#include <map>
#include <vector>

#include "adapter/below/nesting.h"
#include "adapter/messages/messages.h"
#include "adapter/messages/own_requests.h"
#include "base/mutex.h"

namespace unisono::host::mpi::messages {
namespace {

struct Sent {
  runtime::MessageRequest* request;
  std::uint64_t bytes;
};
struct Buffer {
  std::uint64_t attached = 0, used = 0;
  std::vector<Sent> sent;
};

constexpr std::uint64_t without_end = std::numeric_limits<std::uint64_t>::max();

Mutex mutex;
// By communicator; 0: the process's, for those that have none of their own.
std::map<std::uintptr_t, Buffer>& buffers() UNISONO_REQUIRES(mutex) {
  static auto* all = new std::map<std::uintptr_t, Buffer>;
  return *all;
}

Buffer& buffer_of(MPI_Comm comm) UNISONO_REQUIRES(mutex) {
  const auto found = buffers().find(widen<std::uintptr_t>(comm));
  return found != buffers().end() ? found->second : buffers()[0];
}

// What has left the buffer leaves room.
void reclaim(Buffer* buffer) {
  const SpinGuard guard(layer->lock());
  std::erase_if(buffer->sent, [&](const Sent& sent) UNISONO_NOT_CHECKED {
    if (!sent.request->is_done) return false;
    buffer->used -= sent.bytes;
    layer->endpoint().release(sent.request);
    return true;
  });
}

bool is_empty(std::uintptr_t key) {
  const LockGuard lock(mutex);
  const auto found = buffers().find(key);
  if (found == buffers().end()) return true;
  reclaim(&found->second);
  return found->second.sent.empty();
}

// Until nothing of the buffer is under way any more.
void wait_until_empty(std::uintptr_t key) {
  if (!is_on()) return;
  const Nested nested;
  try {
    while (!is_empty(key)) {
      layer->is_over_by_now([] { return false; });
      layer->let_others_go_on();
    }
  } catch (const runtime::PeerLost& lost) {
    raise_lost_peer(MPI_COMM_SELF, lost);
  }
}

void attach(std::uintptr_t key, [[maybe_unused]] const void* memory, std::uint64_t bytes) {
  const LockGuard lock(mutex);
  Buffer& buffer = buffers()[key];
  buffer.attached = bytes;
#ifdef MPI_BUFFER_AUTOMATIC
  if (memory == MPI_BUFFER_AUTOMATIC) buffer.attached = without_end;
#endif
}

void detach(std::uintptr_t key) {
  const LockGuard lock(mutex);
  buffers().erase(key);
}

template <class Size>
int buffer_attach(void* memory, Size size) {
  int error = MPI_SUCCESS;
  if constexpr (std::is_same_v<Size, int>) {
    error = pmpi.Buffer_attach(memory, size);
  } else {
    error = pmpi.Buffer_attach_c(memory, size);
  }
  if (error == MPI_SUCCESS && is_on()) attach(0, memory, static_cast<std::uint64_t>(size));
  return error;
}

template <class Size>
int buffer_detach(void* memory, Size* size) {
  wait_until_empty(0);
  int error = MPI_SUCCESS;
  if constexpr (std::is_same_v<Size, int>) {
    error = pmpi.Buffer_detach(memory, size);
  } else {
    error = pmpi.Buffer_detach_c(memory, size);
  }
  if (error == MPI_SUCCESS) detach(0);
  return error;
}

int buffer_flush() {
  wait_until_empty(0);
  return pmpi.Buffer_flush();
}

template <class Size>
int comm_attach_buffer(MPI_Comm comm, void* memory, Size size) {
  int error = MPI_SUCCESS;
  if constexpr (std::is_same_v<Size, int>) {
    error = pmpi.Comm_attach_buffer(comm, memory, size);
  } else {
    error = pmpi.Comm_attach_buffer_c(comm, memory, size);
  }
  if (error == MPI_SUCCESS && is_on())
    attach(widen<std::uintptr_t>(comm), memory, static_cast<std::uint64_t>(size));
  return error;
}

template <class Size>
int comm_detach_buffer(MPI_Comm comm, void* memory, Size* size) {
  wait_until_empty(widen<std::uintptr_t>(comm));
  int error = MPI_SUCCESS;
  if constexpr (std::is_same_v<Size, int>) {
    error = pmpi.Comm_detach_buffer(comm, memory, size);
  } else {
    error = pmpi.Comm_detach_buffer_c(comm, memory, size);
  }
  if (error == MPI_SUCCESS) detach(widen<std::uintptr_t>(comm));
  return error;
}

int comm_flush_buffer(MPI_Comm comm) {
  wait_until_empty(widen<std::uintptr_t>(comm));
  return pmpi.Comm_flush_buffer(comm);
}

}  // namespace

bool has_room_in_buffer(MPI_Comm comm, std::uint64_t bytes) {
  const LockGuard lock(mutex);
  Buffer& buffer = buffer_of(comm);
  if (buffer.attached == without_end) return true;
  reclaim(&buffer);
  return buffer.used + bytes + MPI_BSEND_OVERHEAD <= buffer.attached;
}

int leave_to_buffer(MPI_Comm comm, MPI_Request* handle, std::uint64_t bytes) {
  const LockGuard lock(mutex);
  Buffer& buffer = buffer_of(comm);
  const std::uint64_t counted = bytes + MPI_BSEND_OVERHEAD;
  buffer.sent.push_back({request_of(*handle), counted});
  buffer.used += counted;
  return MPI_SUCCESS;
}

void add_buffers(UnisonoFunction* functions) {
  functions[unisono_slot_Buffer_attach] = erased(buffer_attach<int>);
  functions[unisono_slot_Buffer_detach] = erased(buffer_detach<int>);
  // Those of MPI 4 and 4.1 where the MPI has them.
  const auto add = [&](int slot, const auto& of_host, auto* wrapper) {
    if (of_host != nullptr) functions[slot] = erased(wrapper);
  };
  add(unisono_slot_Buffer_attach_c, pmpi.Buffer_attach_c, buffer_attach<MPI_Count>);
  add(unisono_slot_Buffer_detach_c, pmpi.Buffer_detach_c, buffer_detach<MPI_Count>);
  add(unisono_slot_Buffer_flush, pmpi.Buffer_flush, buffer_flush);
  add(unisono_slot_Comm_attach_buffer, pmpi.Comm_attach_buffer, comm_attach_buffer<int>);
  add(unisono_slot_Comm_attach_buffer_c, pmpi.Comm_attach_buffer_c, comm_attach_buffer<MPI_Count>);
  add(unisono_slot_Comm_detach_buffer, pmpi.Comm_detach_buffer, comm_detach_buffer<int>);
  add(unisono_slot_Comm_detach_buffer_c, pmpi.Comm_detach_buffer_c, comm_detach_buffer<MPI_Count>);
  add(unisono_slot_Comm_flush_buffer, pmpi.Comm_flush_buffer, comm_flush_buffer);
}

}  // namespace unisono::host::mpi::messages
