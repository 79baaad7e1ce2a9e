// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/attached_buffers.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "adapter/below/elements.h"
#include "adapter/below/nesting.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"
#include "base/mutex.h"

namespace unisono::adapter::messages {
namespace {

struct Buffer {
  bool is_there = false, is_unlimited = false;
  std::uint64_t bytes = 0;
};

// What Open MPI sends at once needs no buffer there, and programs may not know that they have none.
#if defined(UNISONO_FAMILY_OPENMPI)
constexpr std::uint64_t bytes_without_buffer = 4 << 10;
#else
constexpr std::uint64_t bytes_without_buffer = 0;
#endif

struct Sent {
  runtime::MessageRequest* request;
  std::uint64_t bytes;
  bool is_of_process;  // in its buffer, not in that of a communicator
};

Mutex mutex;
Buffer attached UNISONO_GUARDED_BY(mutex);  // to the process
std::vector<Sent>& all_sent() UNISONO_REQUIRES(mutex) {
  static auto* sent = new std::vector<Sent>;
  return *sent;
}

// What has left the buffers leaves room.
void reclaim() UNISONO_REQUIRES(mutex) {
  const BiasedGuard guard(layer->lock());
  std::erase_if(all_sent(), [&](const Sent& sent) UNISONO_NOT_CHECKED {
    if (!sent.request->is_done) return false;
    layer->endpoint().release(sent.request);
    return true;
  });
}

bool is_empty() {
  const LockGuard lock(mutex);
  reclaim();
  return std::ranges::none_of(all_sent(), [](const Sent& sent) { return sent.is_of_process; });
}

Buffer described([[maybe_unused]] const void* memory, std::uint64_t bytes) {
  Buffer buffer{.is_there = true, .bytes = bytes};
#ifdef MPI_BUFFER_AUTOMATIC
  buffer.is_unlimited = memory == MPI_BUFFER_AUTOMATIC;
#endif
  return buffer;
}

// Since MPI 4.1 a communicator may have a buffer of its own. Unisono does not stand in for the functions that
// attach one: on MPIs without them programs would find them. So the MPI is asked, by taking the buffer away
// and giving it back. Nothing is ever in it, since the communicator's messages are ours.
Buffer buffer_of(const OwnComm& own) {
  using Attach = int(MPI_Comm, void*, MPI_Count);
  using Detach = int(MPI_Comm, void*, MPI_Count*);
  static auto* const attach = reinterpret_cast<Attach*>(dlsym(pmpi.library, "PMPI_Comm_attach_buffer_c"));
  static auto* const detach = reinterpret_cast<Detach*>(dlsym(pmpi.library, "PMPI_Comm_detach_buffer_c"));
  // A persistent send goes on where the program has freed its communicator.
  const OwnComm* still = own_comm(own.comm);
  if (still == nullptr || still->context != own.context) return {};
  void* memory = nullptr;
  MPI_Count bytes = 0;
  const bool is_there = attach != nullptr && detach != nullptr &&
                        detach(own.comm, static_cast<void*>(&memory), &bytes) == MPI_SUCCESS &&
                        memory != nullptr;
  if (!is_there || attach(own.comm, memory, bytes) != MPI_SUCCESS) return {};
  return described(memory, static_cast<std::uint64_t>(bytes));
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
  const LockGuard lock(mutex);
  if (error == MPI_SUCCESS) attached = described(memory, static_cast<std::uint64_t>(size));
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
  if (error == MPI_SUCCESS) attached = {};
  return error;
}

// What is in the buffer lies in memory of Unisono's, so that the program's is free at once.
void flush() {
  const LockGuard lock(mutex);
  for (Sent& sent : all_sent()) sent.bytes = 0;
}

// Open MPI and MPICH 4 have no function for it: their buffer is empty when it can be detached.
int flush_by_detaching() {
  {
    const LockGuard lock(mutex);
    if (!attached.is_there) return MPI_SUCCESS;
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

// Of a communicator's own buffer nobody tells when the program detaches it, which waits until it is empty. So
// only a message that is longer than all of it is refused.
int send_buffered(const OwnComm& own, const Data& data, int to, int tag) {
  bool has_room = false, is_of_process = false;
  {
    const LockGuard lock(mutex);
    const Buffer buffer = buffer_of(own);
    reclaim();
    if (buffer.is_there) {
      has_room = buffer.is_unlimited || data.bytes <= buffer.bytes;
    } else {
      // Without MPI_BSEND_OVERHEAD: the program's MPI may have a smaller one than this header says.
      std::uint64_t bytes = data.bytes;
      for (const Sent& sent : all_sent()) bytes += sent.bytes;
      is_of_process = attached.is_unlimited || (attached.is_there && bytes <= attached.bytes);
      has_room = is_of_process || data.bytes < bytes_without_buffer;
    }
  }
  if (!has_room) return raise_on(own.comm, MPI_ERR_BUFFER);
  int error = MPI_SUCCESS;
  runtime::MessageRequest* request = new_send(own, data, to, tag, Mode::buffered, &error);
  if (request == nullptr) return error;
  const LockGuard lock(mutex);
  all_sent().push_back(
      {.request = request, .bytes = is_of_process ? data.bytes : 0, .is_of_process = is_of_process});
  return MPI_SUCCESS;
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
