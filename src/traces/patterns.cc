// SPDX-License-Identifier: BSD-3-Clause
#include "traces/patterns.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace unisono::traces {
namespace {

// One rank's queues: what it posts and what arrives, a nanosecond after the other.
class Maker {
 public:
  Maker(int ranks, int rank, std::uint64_t seed) : random_(seed) {
    trace_.ranks = ranks;
    trace_.mpi = "generated";
    rank_ = &trace_.of_rank[rank];
    rank_->is_exact = rank_->has_arrivals = true;
  }

  struct Message {
    int source = 0, tag = 0;
    matching::Kind kind{};
  };
  void post(const Message& message, bool is_from_any = false) {
    add(What::post, message).number = receives_++;
    if (is_from_any) rank_->events.back().envelope.source = matching::any_source;
  }
  void arrive(const Message& message) { add(What::arrive, message).bytes = 8; }

  // A round: of the receives `early` percent are posted before anything has come, the others after it.
  // Messages come in any order, but those of one source as they were sent. What they are has to differ.
  void round(const std::vector<Message>& receives, int early) {
    std::vector<Message> arriving = in_any_order(receives);
    const std::size_t first = receives.size() * static_cast<std::size_t>(early) / 100;
    for (std::size_t i = 0; i < first; ++i) post(receives[i]);
    for (const Message& message : arriving) arrive(message);
    for (std::size_t i = first; i < receives.size(); ++i) post(receives[i]);
  }

  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  Trace take() { return std::move(trace_); }

 private:
  Event& add(What what, const Message& message) {
    rank_->events.push_back({.time_ns = ++now_ns_,
                             .what = what,
                             .envelope = {.source = message.source,
                                          .tag = message.tag,
                                          .context = message.kind.is_collective() ? 1U : 0U,
                                          .kind = message.kind}});
    return rank_->events.back();
  }

  std::vector<Message> in_any_order(std::vector<Message> messages) {
    for (std::size_t i = messages.size(); i > 1; --i)
      std::swap(messages[i - 1], messages[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    return messages;
  }

  Trace trace_;
  RankTrace* rank_;
  std::mt19937_64 random_;
  std::uint64_t now_ns_ = 0;
  std::uint32_t receives_ = 0;
};

// All others send rank 0 `few` tagged messages each, and every thirteenth one `many`.
void add_uneven(int ranks, int few, int many, std::vector<Maker::Message>* receives) {
  for (int tag = 0; tag < many; ++tag) {
    for (int source = 1; source < ranks; ++source)
      if (tag < (source % 13 == 0 ? many : few)) receives->push_back({source, tag});
  }
}

// FDS: all others send to rank 0, several tagged messages a step; few of them much more than the rest.
Trace fds(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int few = 4, many = 16, early = 60;
  for (int step = 0; step < steps; ++step) {
    std::vector<Maker::Message> receives;
    add_uneven(ranks, few, many, &receives);
    maker.round(receives, early);
  }
  return maker.take();
}

// AMG2006: on each level of the grid a rank has neighbours, more on coarser ones, and posts receives from all
// of them before it waits. On the coarsest ones few ranks send.
Trace amg(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int levels = 8, early = 95;
  for (int step = 0; step < steps; ++step) {
    for (int level = 0; level < levels; ++level) {
      const int neighbors = std::min(ranks - 1, 6 << std::min(level, levels - 1 - level));
      const int distance = 1 << level;
      std::vector<Maker::Message> receives;
      for (int i = 0; i < neighbors; ++i) {
        const int source = 1 + (i * distance) % (ranks - 1);
        receives.push_back({source, level * 1000 + i});
      }
      maker.round(receives, early);
    }
  }
  return maker.take();
}

// LAMMPS: exchanges with six neighbours, two at a time; now and then all that have an atom to give tell so.
Trace lammps(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int early = 90, every = 20, many = 64;
  const int edge = std::max(1, static_cast<int>(std::cbrt(ranks)));
  const int distances[] = {1, edge, edge * edge};
  for (int step = 0; step < steps; ++step) {
    for (const int distance : distances) {
      const int up = 1 + (distance - 1) % (ranks - 1), down = ranks - up;
      maker.round({{up, 0}, {down, 1}}, early);
    }
    if (step % every != 0) continue;
    std::vector<Maker::Message> receives;
    for (int i = 0; i < std::min(many, ranks - 1); ++i)
      receives.push_back({1 + (i * 7) % (ranks - 1), 2 + i});
    maker.round(receives, early);
  }
  return maker.take();
}

// --- With collectives, whose messages have a communicator of their own inside the MPI (M4, section 5.3) ---

enum Operation : std::uint8_t { gather = 1, allgather, allreduce };

// What a rank receives in a call: a message from each of so many others.
void add_call(Operation operation, int ranks, int count, int call, std::vector<Maker::Message>* receives) {
  const matching::Kind kind{.operation = operation,
                            .bytes_class = 3,
                            .ranks_class = static_cast<std::uint8_t>(std::lround(std::log2(ranks))),
                            .call = static_cast<std::uint8_t>(call)};
  // Calls of two operations may be under way at a time.
  const int tag = 4 * call + operation;
  for (int i = 0; i < std::min(count, ranks - 1); ++i) receives->push_back({1 + i, tag, kind});
}

// MPI_Gather alone, at its root.
Trace gathers(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int early = 100;
  for (int step = 0; step < steps; ++step) {
    std::vector<Maker::Message> receives;
    add_call(gather, ranks, ranks, step, &receives);
    maker.round(receives, early);
  }
  return maker.take();
}

// FDS: as above, but a part of it comes by MPI_Gatherv.
Trace fds_gathers(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int few = 2, many = 8, calls = 3, early = 60;
  for (int step = 0; step < steps; ++step) {
    std::vector<Maker::Message> receives;
    for (int call = 0; call < calls; ++call) add_call(gather, ranks, ranks, step * calls + call, &receives);
    add_uneven(ranks, few, many, &receives);
    maker.round(receives, early);
  }
  return maker.take();
}

// Radix: almost all comes from MPI_Iallgather and MPI_Allreduce, and searches look at some ten elements.
Trace radix(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int of_allgather = 24, early = 80;
  for (int step = 0; step < steps; ++step) {
    std::vector<Maker::Message> receives;
    add_call(allgather, ranks, of_allgather, step, &receives);
    add_call(allreduce, ranks, static_cast<int>(std::log2(ranks)), step, &receives);
    maker.round(receives, early);
  }
  return maker.take();
}

// Nbody: most comes from point-to-point messages of many ranks, the rest from MPI_Allgather.
Trace nbody(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int partners = 60, of_each = 2, of_allgather = 30, early = 70;
  for (int step = 0; step < steps; ++step) {
    std::vector<Maker::Message> receives;
    add_call(allgather, ranks, of_allgather, step, &receives);
    for (int i = 0; i < std::min(partners, ranks - 1) * of_each; ++i)
      receives.push_back({1 + (i * 5) % (ranks - 1), step * partners * of_each + i});
    maker.round(receives, early);
  }
  return maker.take();
}

// MiniAMR: MPI_Allreduce makes the long queues, beside some neighbours.
Trace miniamr(int ranks, int steps, std::uint64_t seed) {
  Maker maker(ranks, 0, seed);
  constexpr int neighbors = 6, of_allreduce = 90, early = 80;
  for (int step = 0; step < steps; ++step) {
    std::vector<Maker::Message> receives;
    add_call(allreduce, ranks, of_allreduce, step, &receives);
    for (int i = 0; i < std::min(neighbors, ranks - 1); ++i)
      receives.push_back({1 + (i * 31) % (ranks - 1), i});
    maker.round(receives, early);
  }
  return maker.take();
}

}  // namespace

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {"amg", "algebraic multigrid: neighbours on each level, many on those in the middle", 1024, 50, amg},
      {"fds", "fire dynamics: all ranks send tagged messages to rank 0", 1024, 4, fds},
      {"fds_gathers", "the same, a part of it by gathers", 1024, 4, fds_gathers},
      {"gathers", "gathers alone", 1024, 20, gathers},
      {"lammps", "molecular dynamics: six neighbours, now and then many", 240, 400, lammps},
      {"miniamr", "mesh refinement: allreduces of long queues, some neighbours", 512, 200, miniamr},
      {"nbody", "bodies: messages of many ranks, and allgathers", 256, 200, nbody},
      {"radix", "radix sort: allgathers and allreduces of short queues", 512, 400, radix}};
  return all;
}

}  // namespace unisono::traces
