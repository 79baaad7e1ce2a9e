// SPDX-License-Identifier: BSD-3-Clause
// Option `agents_on`: where agents run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

struct AgentPlaces {
  std::vector<std::string> hosts;  // each once; empty: all hosts of the job
  std::string cores;               // of each host, "3,8-11"; empty: wherever the system puts them
};

// "hosts:node1,node2,cores:3,8-11", with either part left out or both. Nothing where it is no such text.
std::optional<AgentPlaces> agent_places(std::string_view text);

// Hosts of the launcher's words that the option does not name, with commas: `unisono run` sets it, nobody
// else.
inline constexpr const char* agents_left_out_variable = "UNISONO_AGENTS_LEFT_OUT";

// One host may have a longer name and a shorter one.
bool is_same_host(std::string_view one, std::string_view other);

}  // namespace unisono
