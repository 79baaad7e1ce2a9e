// SPDX-License-Identifier: BSD-3-Clause
// The program's messages inside nodes, where Unisono carries them (option `messages`): which communicators,
// and how a call's arguments look from there. M10. docs/inside/messages.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "adapter/below/functions.h"
#include "adapter/host_interface/mpi_host.h"
#include "runtime/messages/messages.h"

namespace unisono::adapter::messages {

// Null: the MPI carries all of them.
extern runtime::Messages* layer;
inline bool is_on() {
  return layer != nullptr;
}
// Which messages this process asks for (option `messages`).
const std::string& asked_for();
// Are there any? Then the functions that send and receive lead here.
inline bool is_wanted() {
  return asked_for() != "off";
}

// After the runtime has started, and before it ends. `host` outlives it.
void begin(MpiHost& host);
void end();
MpiHost& host_of_messages();

struct OwnComm {
  MPI_Comm comm = MPI_COMM_NULL;
  std::uint32_t context = 0;
  int rank = 0, size = 0;
};

// A communicator that the program has just made. Collective over it.
void open(MPI_Comm comm);
// Before the MPI frees one, and after it: it has ended, or goes on. In between this thread alone knows it.
std::unique_ptr<OwnComm> forget(MPI_Comm comm);
void end_forgotten(std::unique_ptr<OwnComm> own, bool has_ended);

struct RememberedComm {
  MPI_Comm comm;
  unsigned generation;
  const OwnComm* own;
};
inline constexpr std::size_t remembered_comms = 2;
extern __thread RememberedComm remembered[remembered_comms] __attribute__((tls_model("initial-exec")));
extern std::atomic<unsigned> generation;
const OwnComm* look_up(MPI_Comm comm, RememberedComm* place);

// Null: its messages are the MPI's.
inline const OwnComm* own_comm(MPI_Comm comm) {
  if (!is_on()) return nullptr;
  const auto bits = widen<std::uintptr_t>(comm);
  RememberedComm& place = remembered[(bits ^ bits >> 7) % remembered_comms];
  if (place.comm == comm && place.generation == generation.load(std::memory_order_acquire)) return place.own;
  return look_up(comm, &place);
}

// Tags up to here are valid.
extern int largest_tag;

// --- Handles: numbers that the MPI never makes, of requests and of messages that a probe has taken ---

// Where the table of requests lies.
extern std::uintptr_t first_place, end_of_places;

#if defined(UNISONO_FAMILY_OPENMPI)
// Addresses of the memory in front of the requests. Open MPI's Fortran library reads a number there, as it
// does of Open MPI's own requests (conversions.cc).
inline std::uintptr_t place_of(std::uintptr_t bits) {
  return bits + runtime::RequestTable::front_bytes;
}
inline std::uintptr_t bits_of(const runtime::MessageRequest* request) {
  return reinterpret_cast<std::uintptr_t>(request) - runtime::RequestTable::front_bytes;
}
#else
// Of a kind that MPICH calls invalid, and of an object that does not exist.
inline constexpr std::uintptr_t first_handle = 0x30000000;
inline std::uintptr_t place_of(std::uintptr_t bits) {
  // A place outside of the table for what is no handle of ours.
  if (first_place == 0 || bits < first_handle) return first_place - 1;
  using Table = runtime::RequestTable;
  return first_place + (bits - first_handle) * Table::place_bytes + Table::front_bytes;
}
inline std::uintptr_t bits_of(const runtime::MessageRequest* request) {
  return first_handle + layer->requests().number_of(request);
}
#endif

template <class Handle>
bool is_own(Handle handle) {
  const std::uintptr_t place = place_of(widen<std::uintptr_t>(handle));
  return place - first_place < end_of_places - first_place;
}
template <class Handle>
runtime::MessageRequest* request_of(Handle handle) {
  return reinterpret_cast<runtime::MessageRequest*>(place_of(widen<std::uintptr_t>(handle)));
}
template <class Handle>
Handle handle_of(const runtime::MessageRequest* request) {
  return narrow<Handle>(bits_of(request));
}

}  // namespace unisono::adapter::messages
