// SPDX-License-Identifier: BSD-3-Clause
// Exchanges in phases. In each phase a rank sends to one other rank and receives from one other rank. The
// barriers here keep the phases apart, so that nobody has two senders at a time. S1.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "algorithms/catalogue/descriptor.h"
#include "patterns/exchange.h"
#include "schedule/program.h"

namespace unisono::algorithms {

enum class Barrier : std::uint8_t { none, light, mpi };

// How descriptors speak of it: behind a name, behind a sentence without its full stop, and the group.
struct BarrierWords {
  Barrier barrier;
  std::string_view suffix;
  std::string_view clause;
  std::string_view group;
};
inline constexpr std::array<BarrierWords, 3> barriers = {{
    {Barrier::none, "", ".", "ring"},
    {Barrier::light, "_light_barrier",
     "; a token tells the next round's sender that its receiver has finished the round before.",
     "light barrier"},
    {Barrier::mpi, "_mpi_barrier", "; a dissemination barrier stands between the rounds.", "MPI barrier"},
}};

// One round of a dissemination barrier.
void disseminate(int rank, int round, int size, schedule::Writer& writer);

// Who exchanges with whom in a phase, from 0 on, as this rank sees it.
using PhaseOf = std::function<patterns::Pair(int phase)>;
// The data of a phase. `pair` may name nobody on either side.
using Exchange = std::function<void(int phase, const patterns::Pair& pair, schedule::Writer& writer)>;

schedule::Stage in_phases(const schedule::Problem& problem, const Parameters& parameters, Barrier barrier,
                          int phases, PhaseOf phase_of, Exchange exchange);

// All others in size - 1 phases: by distance, or in closed pairs where the number of ranks is a power of two.
using PairOf = patterns::Pair (*)(int rank, int round, int size);
PhaseOf phase_by(PairOf pair_of, const schedule::Problem& problem);

}  // namespace unisono::algorithms
