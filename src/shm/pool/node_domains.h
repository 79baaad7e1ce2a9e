// SPDX-License-Identifier: BSD-3-Clause
// In which parts of its machine a rank is. One rank of a node asks for them, and tells the others by the
// node's segment.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/hardware.h"
#include "shm/pool/cores.h"

namespace unisono::shm {

// Sockets, NUMA domains, caches, as HardwareKind numbers them.
inline constexpr std::size_t domain_kinds = 3;
// Of each kind the number of the part that holds the core, or all that a rank may use; -1: there is none.
using PartNumbers = std::array<std::int16_t, domain_kinds>;
inline constexpr PartNumbers in_no_part{-1, -1, -1};

inline constexpr std::size_t most_cpus = sizeof(CoreMask) * 8;
using PartsOfCpus = std::array<PartNumbers, most_cpus>;
// Cores that are in no part of a kind share one more.
void number_parts(const Hardware& hardware, PartsOfCpus* parts);
// The parts that hold all of the mask.
PartNumbers parts_of(const CoreMask& mask, const PartsOfCpus& parts);

// When ranks of a node ask.
enum class AsksHardware : std::uint8_t {
  never,
  where_it_may_help,  // many ranks on many cores, each bound to less than all may use together
  always,
};
inline constexpr int few_ranks = 4, few_cores = 8;

// In zero-filled memory of all of them.
class ToldParts {
 public:
  // By one rank, once. Empty, or why nothing is known.
  std::string ask(const HardwareSource& source = {});
  void tell_nothing() { state_.store(State::nothing, std::memory_order_release); }
  // Waits for what that rank tells. In no part where it does not within this time.
  PartNumbers hear(const CoreMask& mask, std::chrono::milliseconds longest) const;

 private:
  enum class State : std::uint32_t { not_yet, told, nothing };
  std::atomic<State> state_;
  PartsOfCpus parts_;
};

}  // namespace unisono::shm
