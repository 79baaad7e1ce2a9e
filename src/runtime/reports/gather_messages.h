// SPDX-License-Identifier: BSD-3-Clause
// Messages of all ranks to the first one, as long as each rank likes. It takes one after the other, so that
// it needs memory for one alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/host.h"

namespace unisono::runtime {

// A longer one is not sent; the first rank is told so.
inline constexpr std::uint64_t most_message_bytes = std::uint64_t{256} << 20;

// Collective over `world`: rank 0 calls the second one, all others the first one. Calls take(rank, message)
// in the order of the ranks, from 1 on; nothing where the rank's message could not be had.
void send_to_first(host::Host& host, host::Comm world, const std::string& message);
void receive_from_all(host::Host& host, host::Comm world,
                      const std::function<void(int rank, std::optional<std::string_view> message)>& take);

}  // namespace unisono::runtime
