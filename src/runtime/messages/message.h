// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks of a node, as their sender, their receiver and the queues know them. M10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "matching/envelope.h"

namespace unisono::runtime {

struct MessageRequest;

// What the caller keeps with a request; nothing here reads it.
struct CallersPart {
  // How the program has made it: by one call for one message, or by an MPI_..._init call.
  enum class Form : std::uint8_t { once, send, synchronous_send, buffered_send, receive };
  Form form = Form::once;
  bool is_active = true;    // of a persistent one: between its start and its end
  bool is_settled = false;  // its data is where the program wants it
  int error = 0;            // the host's code
  std::uintptr_t comm = 0, type = 0;
  // In the buffer's stead, where its elements do not lie one behind the other.
  std::unique_ptr<std::byte[]> copy;
  // Ends with it: the send of an MPI_Isendrecv, or of a persistent request, which is then done itself.
  MessageRequest* beside = nullptr;
  std::shared_ptr<void> kept;  // until it ends
  void* buffer = nullptr;      // the program's, of `count` elements
  std::uint64_t count = 0;
  // Of a persistent one.
  std::uint32_t context = 0;
  int partner = 0, tag = 0;
  std::uint32_t recorded_number = 0;  // of a receive that is recorded (recorded_queues.h)

  bool holds_something() const { return copy != nullptr || kept != nullptr || beside != nullptr; }
};

// What a program starts and waits for. What each message needs lies in two lines.
struct alignas(64) MessageRequest {
  enum class Kind : std::uint8_t { send, receive };
  Kind kind = Kind::send;
  bool is_done = false;
  bool is_cancelled = false;
  bool is_abandoned = false;        // nobody waits for it (MPI_Request_free)
  bool is_synchronous = false;      // a send that is over once its receive is known
  bool is_being_cancelled = false;  // a send whose receiver was asked
  // Of a request of the table; zeros, of memory that nothing is in, are a blank place.
  enum class Place : std::uint8_t { blank, free, taken };
  Place place = Place::free;
  bool is_left = false;             // a send whose data was copied: its caller's part is over
  int peer = -1;                    // rank of the node, or one behind them (EndpointOptions)
  matching::Envelope envelope{};    // as it was asked for; of a receive that has matched: the message's
  void* buffer = nullptr;           // a send's is only read
  std::uint64_t bytes = 0;          // a send's; of a receive the room
  std::uint64_t message_bytes = 0;  // of a receive that has matched: what was sent
  std::uint64_t moved = 0;          // of a message that goes in pieces, so far
  std::uint64_t peer_request = 0;   // of a long message: what its other end calls it
  CallersPart callers;

  bool is_taken() const { return place == Place::taken; }
  bool is_truncated() const { return message_bytes > bytes; }
  // Without a lock: where it is true all of the message is there.
  bool is_done_by_now() const { return __atomic_load_n(&is_done, __ATOMIC_ACQUIRE); }
};

// A message that no receive has asked for yet, or that a probe has taken out of the queue.
struct WaitingMessage {
  static constexpr std::size_t most_own_bytes = 64;  // of data, without memory of its own

  matching::Envelope envelope{};
  std::uint64_t bytes = 0, here = 0;  // sent, and come so far
  int peer = -1;
  bool is_long = false;
  bool is_with_host = false;  // a long one, whose data the host carries as soon as it is sent
  bool is_in_queue = true;
  bool is_cancelled = false;  // by its sender: nobody gets it
  // The data, or who has it: of a long message the sender's request, or the tag of its data.
  std::uint64_t sender_request = 0;
  std::unique_ptr<std::byte[]> longer_data;
  std::byte short_data[most_own_bytes];
  WaitingMessage *before = nullptr, *next = nullptr;  // among all of them

  std::byte* data() { return longer_data != nullptr ? longer_data.get() : short_data; }
  const std::byte* data() const { return longer_data != nullptr ? longer_data.get() : short_data; }
};

}  // namespace unisono::runtime
