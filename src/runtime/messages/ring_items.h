// SPDX-License-Identifier: BSD-3-Clause
// What ranks of a node write into each other's rings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/messages/message.h"
#include "shm/pairs/ring.h"

namespace unisono::runtime {

// What an item of a ring is: its first word has this, the communicator and the tag; the second one has bytes.
enum class ItemKind : std::uint8_t {
  short_message,  // with its data
  arena_message,  // with the place of its data, or of the first piece of it
  more_data,      // with the place of the message's next piece
  long_message,   // with the sender's request
  clear_to_send,  // with both requests
  clear_to_host,  // the same, and the tag by which the receiver waits for the data from the host
  piece,          // with the receiver's request and the place of its data
  cancel_send,    // with what names a long message, and its request; bytes: 1: the host has its data
  send_ended,     // with that request; bytes: 1: it is cancelled
  // Between nodes:
  hosts_message,  // with the tag of its data, which the host carries
  hosts_data,     // with the receiver's request and the tag of its data, which it has asked for
  headers_only,   // bytes: 1: its sender wants no data that it has not asked for; 0: it does again
  heard,          // that
};
inline constexpr int kind_bits = 4, tag_shift = 32;

// A message that goes at once leaves in pieces, so that its reader copies one while the next one is written.
// How many bytes of it do, from byte `at` on.
inline std::uint64_t piece_of_eager(std::uint64_t bytes, std::uint64_t at) {
  constexpr std::uint64_t whole = 12 << 10, piece = 8 << 10;
  const std::uint64_t left = bytes - at;
  return left <= whole ? left : piece;
}

inline shm::RingItem item_of(ItemKind kind, std::uint32_t context, std::int32_t tag, std::uint64_t bytes) {
  return {{static_cast<std::uint64_t>(kind) | std::uint64_t{context} << kind_bits |
               std::uint64_t{static_cast<std::uint32_t>(tag)} << tag_shift,
           bytes}};
}
inline ItemKind kind_of(const shm::RingItem& item) {
  return static_cast<ItemKind>(item.words[0] & ((1U << kind_bits) - 1));
}
inline std::uint32_t context_of(const shm::RingItem& item) {
  return static_cast<std::uint32_t>(item.words[0]) >> kind_bits;
}
inline std::int32_t tag_of(const shm::RingItem& item) {
  return static_cast<std::int32_t>(item.words[0] >> tag_shift);
}

// A request as others know it: a number that they send back.
inline std::uint64_t number_of(const MessageRequest* request) {
  return reinterpret_cast<std::uint64_t>(request);
}
inline MessageRequest* request_of(std::uint64_t number) {
  return reinterpret_cast<MessageRequest*>(number);
}

// Numbers as an item brings them along.
template <class... Numbers>
std::vector<std::byte> data_of(Numbers... numbers) {
  const std::uint64_t all[] = {numbers...};
  std::vector<std::byte> data(sizeof all);
  std::memcpy(data.data(), all, sizeof all);
  return data;
}

}  // namespace unisono::runtime
