// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/gather_messages.h"

#include <cstddef>
#include <thread>
#include <vector>

namespace unisono::runtime {
namespace {

constexpr int message_tag = 0;  // no collective is under way where these messages travel

bool is_sent(std::uint64_t length) {
  return length != 0 && length <= most_message_bytes;
}

bool wait(host::Host& host, host::Request request) {
  bool is_done = false;
  while (host.test(&request, &is_done) == host::success && !is_done) std::this_thread::yield();
  return is_done;
}

bool receive(host::Host& host, host::Comm world, int rank, std::string* message) {
  host::Request request{};
  return host.irecv(message->data(), message->size(), rank, message_tag, world, &request) == host::success &&
         wait(host, request);
}

}  // namespace

void send_to_first(host::Host& host, host::Comm world, const std::string& message) {
  const std::uint64_t length = message.size();
  if (host.gather_bytes(&length, sizeof length, nullptr, 0, world) != host::success || !is_sent(length))
    return;
  host::Request request{};
  if (host.isend(message.data(), message.size(), 0, message_tag, world, &request) == host::success)
    wait(host, request);
}

void receive_from_all(host::Host& host, host::Comm world,
                      const std::function<void(int rank, std::optional<std::string_view> message)>& take) {
  const int size = host.comm_size(world);
  const std::uint64_t own = 0;
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size));
  bool is_well = host.gather_bytes(&own, sizeof own, lengths.data(), 0, world) == host::success;
  std::string message;
  for (int rank = 1; rank < size; ++rank) {
    const std::uint64_t length = lengths[static_cast<std::size_t>(rank)];
    // After a failure nothing more is asked of the host.
    if (!is_well || length > most_message_bytes) {
      take(rank, std::nullopt);
      continue;
    }
    message.resize(length);
    is_well = length == 0 || receive(host, world, rank, &message);
    take(rank, is_well ? std::optional<std::string_view>(message) : std::nullopt);
  }
}

}  // namespace unisono::runtime
