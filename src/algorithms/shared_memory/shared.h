// SPDX-License-Identifier: BSD-3-Clause
// A node's messages of any size through a channel of shared memory: what is longer than a slot goes through
// in pieces, slot after slot. `problem` is one node's with two ranks or more; its ranks are local ranks.
// Always one stage. A1, A2 (section 2.4, tables 2.2 and 2.3), G2.
#pragma once

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// A bcast, a reduce and an allreduce know parameter `domains` (along_domains.h).
schedule::Program shared_barrier(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_bcast(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_reduce(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_allreduce(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_gather(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_scatter(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_allgather(const schedule::Problem& problem, const Parameters& parameters);
// The same by the standard values of its parameters, whatever those are that it is given.
schedule::Program standard_shared_allgather(const schedule::Problem& problem, const Parameters& parameters);
// The blocks of an alltoall. Uneven ones that are received have numbers of their own, behind those that are
// sent.
schedule::Ref sent_to(int rank);
schedule::Ref received_from(const schedule::Problem& problem, int rank);
// The same of a node's ranks among more, by local ranks.
struct ExchangedBlocks {
  std::function<schedule::Ref(int local)> sent_to, received_from;
};
schedule::Program shared_alltoall_of(const schedule::Problem& problem, const Parameters& parameters,
                                     const ExchangedBlocks& exchanged);
schedule::Program shared_alltoall(const schedule::Problem& problem, const Parameters& parameters);
schedule::Program shared_pairwise_alltoall(const schedule::Problem& problem, const Parameters& parameters);

// A stage that uses a channel, by the parameters `buffers` and `piece`. All its steps stand in one round:
// pieces follow each other.
schedule::Stage channel_stage(const Parameters& parameters, schedule::SharedMode mode, int ticks,
                              std::function<void(schedule::Writer&)> write);

}  // namespace unisono::algorithms
