// SPDX-License-Identifier: BSD-3-Clause
#include "base/agent_places.h"

#include <algorithm>
#include <cctype>

#include "base/core_list.h"

namespace unisono {
namespace {

constexpr std::string_view hosts_follow = "hosts:", cores_follow = "cores:";
constexpr std::string_view of_cores = "0123456789-";

// Launchers have notations of their own for ranges of hosts and for processes on each: none is known here.
bool is_host(std::string_view word) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  constexpr std::string_view inside = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !word.empty() && letters.find(word.front()) != std::string_view::npos &&
         word.find_first_not_of(inside) == std::string_view::npos;
}

// Names of hosts have no upper and lower case (RFC 4343), whatever the words of who writes them.
bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

bool add(std::string_view word, bool is_of_hosts, AgentPlaces* places) {
  if (!is_of_hosts) {
    if (word.empty() || word.find_first_not_of(of_cores) != std::string_view::npos) return false;
    if (!places->cores.empty()) places->cores += ',';
    places->cores += word;
    return true;
  }
  if (!is_host(word)) return false;
  if (std::ranges::none_of(places->hosts, [word](const auto& host) { return is_same_name(host, word); }))
    places->hosts.emplace_back(word);
  return true;
}

}  // namespace

bool is_same_host(std::string_view one, std::string_view other) {
  const auto short_name = [](std::string_view name) { return name.substr(0, name.find('.')); };
  const bool are_both_long =
      one.find('.') != std::string_view::npos && other.find('.') != std::string_view::npos;
  return are_both_long ? is_same_name(one, other) : is_same_name(short_name(one), short_name(other));
}

std::optional<AgentPlaces> agent_places(std::string_view text) {
  AgentPlaces places;
  if (text.empty()) return places;
  bool has_begun = false, is_of_hosts = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    for (const std::string_view beginning : {hosts_follow, cores_follow}) {
      if (!word.starts_with(beginning)) continue;
      word.remove_prefix(beginning.size());
      is_of_hosts = beginning == hosts_follow;
      has_begun = true;
      break;
    }
    if (!has_begun || !add(word, is_of_hosts, &places)) return std::nullopt;
  }
  const bool are_cores = places.cores.empty() || unisono_is_core_list(places.cores.c_str()) != 0;
  return are_cores ? std::optional(places) : std::nullopt;
}

}  // namespace unisono
