// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/phase_barriers.h"

#include <utility>

#include "algorithms/building/compose.h"

namespace unisono::algorithms {

using patterns::Pair;
using schedule::Problem;
using schedule::Stage;
using schedule::token;
using schedule::Writer;

namespace {

// Who will send to this rank next hears that it may, and this rank waits for the same word.
void light_barrier(const Pair& next, Writer& writer) {
  if (next.from >= 0) writer.send(token(), next.from);
  if (next.to >= 0) writer.recv(token(), next.to);
}

void mpi_barrier(int rank, int size, Writer& writer) {
  for (int round = 0; round < patterns::ceil_log2(size); ++round) disseminate(rank, round, size, writer);
}

}  // namespace

void disseminate(int rank, int round, int size, Writer& writer) {
  const Pair pair = patterns::dissemination(rank, round, size);
  writer.send(token(), pair.to);
  writer.recv(token(), pair.from);
}

Stage in_phases(const Problem& problem, const Parameters& parameters, Barrier barrier, int phases,
                PhaseOf phase_of, Exchange exchange) {
  return message_stage(parameters, phases,
                       [=, rank = problem.rank, size = problem.size, phase_of = std::move(phase_of),
                        exchange = std::move(exchange)](int phase, Writer& writer) {
                         exchange(phase, phase_of(phase), writer);
                         if (phase + 1 == phases) return;
                         if (barrier == Barrier::light) light_barrier(phase_of(phase + 1), writer);
                         if (barrier == Barrier::mpi) mpi_barrier(rank, size, writer);
                       });
}

PhaseOf phase_by(PairOf pair_of, const Problem& problem) {
  return [pair_of, rank = problem.rank, size = problem.size](int phase) {
    return pair_of(rank, phase + 1, size);
  };
}

}  // namespace unisono::algorithms
