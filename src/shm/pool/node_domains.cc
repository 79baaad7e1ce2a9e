// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/node_domains.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

namespace unisono::shm {

void number_parts(const Hardware& hardware, PartsOfCpus* parts) {
  PartNumbers next{};
  parts->fill(in_no_part);
  for (const HardwarePart& part : hardware.parts) {
    const auto kind = static_cast<std::size_t>(part.kind);
    if (kind >= domain_kinds || next[kind] == std::numeric_limits<std::int16_t>::max()) continue;
    for (const int cpu : part.cpus) {
      if (static_cast<std::size_t>(cpu) >= most_cpus) continue;
      std::int16_t& number = (*parts)[static_cast<std::size_t>(cpu)][kind];
      // A core has one kind of memory or two; the first is the one that it is counted to.
      if (number < 0) number = next[kind];
    }
    ++next[kind];
  }
  for (const int cpu : hardware.cpus) {
    if (static_cast<std::size_t>(cpu) >= most_cpus) continue;
    for (std::size_t kind = 0; kind < domain_kinds; ++kind) {
      std::int16_t& number = (*parts)[static_cast<std::size_t>(cpu)][kind];
      if (number < 0) number = next[kind];
    }
  }
}

PartNumbers parts_of(const CoreMask& mask, const PartsOfCpus& parts) {
  PartNumbers common = in_no_part;
  bool is_first = true;
  for (std::size_t cpu = 0; cpu < most_cpus; ++cpu) {
    if ((mask[cpu / 64] >> cpu % 64 & 1) == 0) continue;
    if (std::exchange(is_first, false)) {
      common = parts[cpu];
      continue;
    }
    for (std::size_t kind = 0; kind < domain_kinds; ++kind) {
      if (common[kind] != parts[cpu][kind]) common[kind] = -1;
    }
  }
  return common;
}

std::string ToldParts::ask(const HardwareSource& source) {
  ReadHardware read = read_hardware(source);
  if (!read.hardware) {
    tell_nothing();
    return std::move(read.problem);
  }
  number_parts(*read.hardware, &parts_);
  state_.store(State::told, std::memory_order_release);
  return {};
}

PartNumbers ToldParts::hear(const CoreMask& mask, std::chrono::milliseconds longest) const {
  constexpr std::chrono::microseconds between{200};
  const auto end = std::chrono::steady_clock::now() + longest;
  State state = state_.load(std::memory_order_acquire);
  while (state == State::not_yet && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(between);
    state = state_.load(std::memory_order_acquire);
  }
  return state == State::told ? parts_of(mask, parts_) : in_no_part;
}

}  // namespace unisono::shm
