// SPDX-License-Identifier: BSD-3-Clause
// A node's messages read straight from the other rank's memory: one copy instead of two. Ranks expose their
// buffers, and none leaves before all have read. A2 without the shared buffer.
#include "algorithms/compose.h"
#include "algorithms/shared.h"
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

namespace {

constexpr int exposed = 1;  // ticks: others may read
constexpr int read = 2;     // this rank has read what it wants

Ref remote(Ref ref, int owner) {
  ref.place = ref.place == Place::input ? Place::remote_input : Place::remote_output;
  ref.owner = owner;
  return ref;
}

void expose(Writer& writer) {
  writer.await_space();
  writer.expose();
  writer.signal(exposed);
}
void await_readers(Writer& writer) {
  writer.signal(read);
  writer.await_all(read);
}

// The channel carries addresses only: one piece, however long the message.
Program exposing(std::function<void(Writer&)> write) {
  Stage stage = channel_stage({}, SharedMode::own, read, std::move(write));
  stage.extent = 0;
  return one_stage(std::move(stage));
}

// Everyone but the root reads `from` of the root's memory to `into`.
Program read_from_root(const Problem& problem, const Ref& into, const Ref& from) {
  return exposing([=](Writer& writer) {
    if (problem.rank == problem.root) {
      expose(writer);
      writer.copy(into, from);
      await_readers(writer);
    } else {
      writer.await(problem.root, exposed);
      writer.copy(into, remote(from, problem.root));
    }
  });
}

Program bcast(const Problem& problem, const Parameters&) {
  return read_from_root(problem, whole(Place::output), whole(Place::output));
}

Program scatter(const Problem& problem, const Parameters&) {
  return read_from_root(problem, block(Place::output, 0), block(Place::input, problem.rank));
}

Program gather(const Problem& problem, const Parameters&) {
  return exposing([=](Writer& writer) {
    const Ref own = block(Place::input, 0);
    if (problem.rank != problem.root) {
      expose(writer);
      writer.await(problem.root, read);
      return;
    }
    writer.copy(block(Place::output, problem.rank), own);
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      writer.await(peer, exposed);
      writer.copy(block(Place::output, peer), remote(own, peer));
    }
  });
}

Program exchange(const Problem& problem, const std::function<Ref(int peer)>& block_of) {
  return exposing([=](Writer& writer) {
    expose(writer);
    for (int distance = 0; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      const Ref from = block_of(peer);
      if (distance > 0) writer.await(peer, exposed);
      writer.copy(block(Place::output, peer), distance > 0 ? remote(from, peer) : from);
    }
    await_readers(writer);
  });
}

// In place on all ranks or on none: MPI says so.
Program allgather(const Problem& problem, const Parameters&) {
  return exchange(problem, [is_in_place = problem.is_in_place](int peer) {
    return is_in_place ? block(Place::output, peer) : block(Place::input, 0);
  });
}

Program alltoall(const Problem& problem, const Parameters&) {
  return exchange(problem, [rank = problem.rank](int) { return block(Place::input, rank); });
}

Descriptor single_copy(Operation operation, std::string sentence,
                       Program (*build)(const Problem&, const Parameters&)) {
  return {.name = "single_copy",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A2, section 2.4",
          .legality = {.needs_one_node = true, .needs_shared_memory = true, .needs_single_copy = true},
          .parameters = {},
          .build = build};
}

std::vector<Descriptor> make() {
  return {
      single_copy(Operation::bcast, "All read the vector from the root's own memory.", bcast),
      single_copy(Operation::scatter, "Each reads its block from the root's own memory.", scatter),
      single_copy(Operation::gather, "The root reads the blocks from the others' own memory.", gather),
      single_copy(Operation::allgather, "Each reads the blocks from the others' own memory.", allgather),
      single_copy(Operation::alltoall, "Each reads its blocks from the others' own memory.", alltoall),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
