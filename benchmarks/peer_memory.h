// SPDX-License-Identifier: BSD-3-Clause
// What a structure of src/matching has allocated for so many peers.
#pragma once

#include <stdexcept>
#include <string>

#include "matching/catalogue.h"
#include "matching/queue_profile.h"

namespace unisono::matching {

// In bytes, once there was a message from each peer, and so many messages of a few of them at a time that
// structures which adapt have done so. Nothing waits any more. Throws std::logic_error where one matches
// wrong.
inline std::size_t memory_with(const Descriptor& descriptor, int peers) {
  const auto item_of = [](int number) {
    return reinterpret_cast<Item>(static_cast<std::intptr_t>(number) + 1);
  };
  const auto expect = [&](Item found, Item wanted) {
    if (found != wanted) throw std::logic_error(std::string(descriptor.name) + " matches wrong");
  };
  Profile profile{.ranks = peers};
  for (int source = 0; source < peers; ++source)
    profile.posted[{0, source}] = profile.unexpected[{0, source}] =
        static_cast<std::uint64_t>(1 + source % 7);
  const auto queues = make_queues(descriptor, {.ranks = peers, .profile = &profile, .values = {}});
  for (int source = 0; source < peers; ++source) {
    queues->arrive({.source = source}, item_of(source));
    expect(queues->post({.source = source}, item_of(source)), item_of(source));
  }
  constexpr int busy = 500, each = 20;
  for (int call = 0; call < 4; ++call) {
    const Kind kind{
        .operation = 1, .bytes_class = 3, .ranks_class = 9, .call = static_cast<std::uint8_t>(call)};
    for (const bool is_collective : {false, true}) {
      const auto envelope = [&](int i) {
        return Envelope{.source = i % busy,
                        .tag = i / busy,
                        .context = is_collective ? 1U : 0U,
                        .kind = is_collective ? kind : Kind{}};
      };
      for (int i = 0; i < busy * each; ++i) queues->post(envelope(i), item_of(i));
      for (int i = busy * each - 1; i >= 0; --i) expect(queues->arrive(envelope(i), item_of(i)), item_of(i));
    }
  }
  return queues->memory_bytes();
}

}  // namespace unisono::matching
