// SPDX-License-Identifier: BSD-3-Clause
// A node's messages read straight from the other rank's memory: one copy instead of two. Ranks expose their
// buffers, and none leaves before all have read. A2 without the shared buffer.
#include "algorithms/building/compose.h"
#include "algorithms/shared_memory/shared.h"
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
Program exposing(int ticks, std::function<void(Writer&)> write) {
  Stage stage = channel_stage({}, SharedMode::own, ticks, std::move(write));
  stage.extent = 0;
  return one_stage(std::move(stage));
}

// Everyone but the root reads `from` of the root's memory to `into`.
Program read_from_root(const Problem& problem, const Ref& into, const Ref& from) {
  return exposing(read, [=](Writer& writer) {
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
  return exposing(read, [=](Writer& writer) {
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
  return exposing(read, [=](Writer& writer) {
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

// Each rank joins one part of all vectors; then whoever wants the result reads the parts. In place is safe: a
// rank's part of the others' vectors is read by that rank alone until it has joined it.
constexpr int joined = 2, finished = 3;

void join_own_part(Writer& writer, const Problem& problem) {
  const Ref own = part(Place::input, problem.rank, problem.size);
  const Ref sum = part(Place::output, problem.rank, problem.size);
  for (int distance = 1; distance < problem.size; ++distance) {
    const int peer = wrap(problem.rank + distance, problem.size);
    writer.await(peer, exposed);
    writer.reduce(sum, distance == 1 ? own : sum, remote(own, peer));
  }
}

void read_joined_parts(Writer& writer, const Problem& problem) {
  for (int distance = 1; distance < problem.size; ++distance) {
    const int peer = wrap(problem.rank + distance, problem.size);
    const Ref theirs = part(Place::output, peer, problem.size);
    writer.await(peer, joined);
    writer.copy(theirs, remote(theirs, peer));
  }
}

// Of two vectors the root joins all itself: the other's half would have to be fetched as well.
Program join_at_root(const Problem& problem) {
  return exposing(read, [=](Writer& writer) {
    const int other = 1 - problem.rank;
    if (problem.rank != problem.root) {
      expose(writer);
      writer.await(other, read);
      return;
    }
    writer.await(other, exposed);
    writer.reduce(whole(Place::output), whole(Place::input), remote(whole(Place::input), other));
  });
}

// When the root has finished, all have joined their parts, so nobody's memory is read any more.
Program reduce(const Problem& problem, const Parameters&) {
  if (problem.size == 2) return join_at_root(problem);
  return exposing(finished, [=](Writer& writer) {
    expose(writer);
    join_own_part(writer, problem);
    if (problem.rank == problem.root) {
      read_joined_parts(writer, problem);
      writer.signal(finished);
    } else {
      writer.signal(joined);
      writer.await(problem.root, finished);
    }
  });
}

Program allreduce(const Problem& problem, const Parameters&) {
  return exposing(finished, [=](Writer& writer) {
    expose(writer);
    join_own_part(writer, problem);
    writer.signal(joined);
    read_joined_parts(writer, problem);
    writer.signal(finished);
    writer.await_all(finished);
  });
}

Descriptor of_commutative(Descriptor descriptor) {
  descriptor.legality.needs_commutative = true;
  return descriptor;
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
      of_commutative(single_copy(Operation::reduce,
                                 "Each joins a part of all vectors where they lie, and the root reads the "
                                 "parts; of two it joins all.",
                                 reduce)),
      of_commutative(single_copy(
          Operation::allreduce,
          "Each joins a part of all vectors where they lie, and everyone reads the parts.", allreduce)),
      single_copy(Operation::scatter, "Each reads its block from the root's own memory.", scatter),
      single_copy(Operation::gather, "The root reads the blocks from the others' own memory.", gather),
      single_copy(Operation::allgather, "Each reads the blocks from the others' own memory.", allgather),
      single_copy(Operation::alltoall, "Each reads its blocks from the others' own memory.", alltoall),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
