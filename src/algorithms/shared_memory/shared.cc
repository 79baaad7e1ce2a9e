// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/shared_memory/shared.h"

#include <algorithm>

#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/along_domains.h"
#include "patterns/exchange.h"

namespace unisono::algorithms {

using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

Stage channel_stage(const Parameters& parameters, SharedMode mode, int ticks,
                    std::function<void(Writer&)> write) {
  Stage stage = local_stage(std::move(write));
  stage.segment_bytes = parameters.get_or("piece", 0);
  stage.shared = mode;
  stage.ticks = ticks;
  stage.buffers = static_cast<int>(parameters.get_or("buffers", stage.buffers));
  return stage;
}

// Group_sync.
Program shared_barrier(const Problem&, const Parameters& parameters) {
  return one_stage(channel_stage(parameters, SharedMode::common, 1, [](Writer& writer) {
    writer.signal(1);
    writer.await_all(1);
  }));
}

// Sender_put, Group_sync, Group_get: one writes, all read the same slot (G2).
Program shared_bcast(const Problem& problem, const Parameters& parameters) {
  if (goes_along_domains(problem, parameters)) return bcast_along_domains(problem, parameters);
  return one_stage(channel_stage(parameters, SharedMode::common, 1, [=](Writer& writer) {
    const Ref data = whole(Place::output);
    if (problem.rank == problem.root) {
      writer.await_space();
      writer.copy(data.in_slot_of(0), data);
    } else {
      writer.await(problem.root, 1);
      writer.copy(data, data.in_slot_of(0));
    }
  }));
}

// Group_seg_put, Group_sync, Receiver_get.
Program shared_gather(const Problem& problem, const Parameters& parameters) {
  return one_stage(channel_stage(parameters, SharedMode::own, 1, [=](Writer& writer) {
    const Ref own = block(Place::input, 0);
    if (problem.rank != problem.root) {
      writer.await_space();
      writer.copy(own.in_slot_of(problem.rank), own);
      return;
    }
    writer.copy(block(Place::output, problem.rank), own);
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      writer.await(peer, 1);
      writer.copy(block(Place::output, peer), own.in_slot_of(peer));
    }
  }));
}

// Sender_put, Group_sync, Group_seg_get: a lane for each rank.
Program shared_scatter(const Problem& problem, const Parameters& parameters) {
  Stage stage = channel_stage(parameters, SharedMode::common, 1, [=](Writer& writer) {
    const Ref own = block(Place::output, 0);
    if (problem.rank != problem.root) {
      writer.await(problem.root, 1);
      writer.copy(own, own.in_slot_of(0, problem.rank));
      return;
    }
    writer.await_space();
    for (int peer = 0; peer < problem.size; ++peer) {
      const Ref theirs = block(Place::input, peer);
      if (peer != problem.rank) writer.copy(theirs.in_slot_of(0, peer), theirs);
    }
    writer.copy(own, block(Place::input, problem.rank));
  });
  stage.lanes = problem.size;
  return one_stage(std::move(stage));
}

// Group_seg_put, Group_sync, Group_get.
Program shared_allgather(const Problem& problem, const Parameters& parameters) {
  return one_stage(channel_stage(parameters, SharedMode::own, 2, [=](Writer& writer) {
    const Ref own = block(Place::input, 0);
    writer.await_space();
    writer.copy(own.in_slot_of(problem.rank), own);
    writer.signal(1);
    writer.copy(block(Place::output, problem.rank), own);
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      writer.await(peer, 1);
      writer.copy(block(Place::output, peer), own.in_slot_of(peer));
    }
  }));
}

Ref sent_to(int rank) {
  return block(Place::input, rank);
}
Ref received_from(const Problem& problem, int rank) {
  return block(Place::output, is_uneven_alltoall(problem.operation) ? problem.size + rank : rank);
}

namespace {

ExchangedBlocks all_blocks(const Problem& problem) {
  return {.sent_to = sent_to, .received_from = [=](int rank) { return received_from(problem, rank); }};
}

// pairwise-[Sender_put, Pair_sync, Receiver_get]: in each round everyone writes for one and reads from one.
// Two lanes in turn, so that a round's writing need not wait for the reading of the round before.
Program shared_pairwise_alltoall_of(const Problem& problem, const Parameters& parameters,
                                    const ExchangedBlocks& exchanged) {
  const int rounds = problem.size - 1;
  const auto put_done = [](int round) { return 2 * round - 1; };
  const auto got_done = [](int round) { return 2 * round; };
  Stage stage = channel_stage(parameters, SharedMode::own, got_done(rounds), [=](Writer& writer) {
    const auto& [sent_to, received_from] = exchanged;
    writer.await_space();
    writer.copy(received_from(problem.rank), sent_to(problem.rank));
    for (int round = 1; round <= rounds; ++round) {
      const auto [to, from] = patterns::at_distance(problem.rank, round, problem.size);
      const int last_reader = patterns::at_distance(problem.rank, round - 2, problem.size).to;
      const int lane = round % 2;
      if (round > 2) writer.await(last_reader, got_done(round - 2));
      writer.copy(sent_to(to).in_slot_of(problem.rank, lane), sent_to(to));
      writer.signal(put_done(round));
      writer.await(from, put_done(round));
      const Ref theirs = received_from(from);
      writer.copy(theirs, theirs.in_slot_of(from, lane));
      writer.signal(got_done(round));
    }
  });
  stage.lanes = 2;
  return one_stage(std::move(stage));
}

}  // namespace

// Group_seg_put, Group_sync, Group_seg_get: every slot has a lane for each reader.
Program shared_alltoall_of(const Problem& problem, const Parameters& parameters,
                           const ExchangedBlocks& exchanged) {
  // The smallest area that a rank may have (16 KiB) has so many lanes of a cache line.
  constexpr int most_lanes = 256;
  if (problem.size > most_lanes) return shared_pairwise_alltoall_of(problem, parameters, exchanged);
  Stage stage = channel_stage(parameters, SharedMode::own, 2, [=](Writer& writer) {
    const auto& [sent_to, received_from] = exchanged;
    writer.await_space();
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      writer.copy(sent_to(peer).in_slot_of(problem.rank, peer), sent_to(peer));
    }
    writer.signal(1);
    writer.copy(received_from(problem.rank), sent_to(problem.rank));
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank - distance, problem.size);
      writer.await(peer, 1);
      const Ref theirs = received_from(peer);
      writer.copy(theirs, theirs.in_slot_of(peer, problem.rank));
    }
  });
  stage.lanes = problem.size;
  stage.buffers = std::min(stage.buffers, most_lanes / problem.size);
  return one_stage(std::move(stage));
}

Program shared_alltoall(const Problem& problem, const Parameters& parameters) {
  return shared_alltoall_of(problem, parameters, all_blocks(problem));
}
Program shared_pairwise_alltoall(const Problem& problem, const Parameters& parameters) {
  return shared_pairwise_alltoall_of(problem, parameters, all_blocks(problem));
}

Program standard_shared_allgather(const Problem& problem, const Parameters&) {
  Parameters standards;
  for (const ParameterSpec& spec : {buffers_parameter(), piece_parameter()})
    standards.set(spec.name, spec.standard);
  return shared_allgather(problem, standards);
}

namespace {

Descriptor descriptor(std::string name, Operation operation, std::string sentence, std::string source,
                      Program (*build)(const Problem&, const Parameters&)) {
  return {.name = std::move(name),
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = std::move(source),
          .legality = {.needs_one_node = true,
                       .needs_shared_memory = true,
                       .keeps_one_order = is_reduction(operation)},
          .parameters = {buffers_parameter(), piece_parameter()},
          .build = build};
}

Descriptor first_to_agree_by(Descriptor descriptor) {
  descriptor.place_among_agreements = 1;
  return descriptor;
}

std::vector<Descriptor> make() {
  return {
      descriptor("shared", Operation::barrier, "Everyone raises its flag and waits for all flags.",
                 "A1, section 2.4", shared_barrier),
      descriptor("shared", Operation::bcast,
                 "The root writes each piece once, all read it from the same slot.",
                 "A2, tables 2.2 and 2.3, row 1; G2", shared_bcast),
      descriptor("shared", Operation::scatter,
                 "The root writes pieces of all blocks side by side, each reads its own.",
                 "A2, tables 2.2 and 2.3, row 2", shared_scatter),
      descriptor("shared", Operation::gather, "Everyone writes pieces of its block, the root reads them.",
                 "A2, tables 2.2 and 2.3, row 3", shared_gather),
      descriptor("shared", Operation::alltoall,
                 "Everyone writes pieces for all others side by side, each reads its own.",
                 "A2, table 2.2, row 4", shared_alltoall),
      descriptor("shared_pairwise", Operation::alltoall,
                 "In each round everyone writes for one other and reads from one other.",
                 "A2, table 2.3, row 4", shared_pairwise_alltoall),
      descriptor("shared", Operation::allgather, "Everyone writes pieces of its block, all read them.",
                 "A2, tables 2.2 and 2.3, row 5", shared_allgather),
      descriptor(
          "shared", Operation::reduce,
          "Everyone writes its pieces, joins its own part of each, and the root reads the joined parts.",
          "A2, section 2.4", shared_reduce),
      first_to_agree_by(
          descriptor("shared", Operation::allreduce,
                     "Everyone writes its pieces, joins its own part of each, and all read the joined parts.",
                     "A2, section 2.4", shared_allreduce)),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
