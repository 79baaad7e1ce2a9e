// SPDX-License-Identifier: BSD-3-Clause
// Programs of messages, copies and reductions, written by hand, over the fake host.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "patterns/exchange.h"
#include "world_of_programs.h"

namespace unisono::schedule {
namespace {

constexpr int most_ranks = 9;

std::vector<std::int64_t> counts_for(int size) {
  return {0, 1, 2, size - 1, size, size + 1, 61};
}

// What hosts differ in: how long things take, and whether sends are buffered.
std::vector<fake_host::Options> hosts() {
  return {{},
          {.is_synchronous = true},
          {.eager_limit_bytes = 32, .seed = 1, .max_delay = 3},
          {.eager_limit_bytes = 32, .seed = 2, .max_delay = 20},
          {.is_synchronous = true, .seed = 3, .max_delay = 8}};
}

std::int64_t value(int rank, std::int64_t i) {
  return rank * 1000 + i;
}
Values values(int rank, std::int64_t first, std::int64_t count) {
  Values made;
  for (std::int64_t i = first; i < first + count; ++i) made.push_back(value(rank, i));
  return made;
}

// recv from the one before; send to the one after: a pipeline as soon as there are pieces.
Program chain_bcast(const Problem& problem, std::int64_t segment_bytes, int window) {
  const int position = (problem.rank - problem.root + problem.size) % problem.size;
  const int next = (problem.rank + 1) % problem.size;
  const int previous = (problem.rank + problem.size - 1) % problem.size;
  Stage stage{.rounds = problem.size, .write = {}, .segment_bytes = segment_bytes, .window = window};
  stage.write = [=](int round, Writer& writer) {
    if (round == position - 1) writer.recv(whole(Place::output), previous);
    if (round == position && position + 1 < problem.size) writer.send(whole(Place::output), next);
  };
  return {.stages = {stage}};
}

Call bcast_call(int root, std::int64_t elements, const Build& build) {
  return {.operation = Operation::bcast,
          .root = root,
          .elements = elements,
          .build = build,
          .fill =
              [=](int rank, Values*, Values* output) {
                *output = rank == root ? values(root, 0, elements) : Values(elements, -1);
              },
          .check = [=](int, const Values& output) { EXPECT_EQ(output, values(root, 0, elements)); }};
}

TEST(ExecutorMessages, SegmentedChainBcast) {
  for (const auto& host : hosts()) {
    for (int size = 1; size <= most_ranks; size += 2) {
      std::vector<Call> calls;
      for (const std::int64_t count : counts_for(size)) {
        for (const std::int64_t segment_bytes : {0, 8, 40}) {
          for (const int window : {1, 2, 5}) {
            calls.push_back(bcast_call(size / 2, count, [=](const Problem& problem) {
              return chain_bcast(problem, segment_bytes, window);
            }));
          }
        }
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

Program ring_allgather(const Problem& problem, std::int64_t segment_bytes) {
  const patterns::Ring ring{problem.size};
  Stage own{.rounds = 1, .write = {}};
  own.write = [=](int, Writer& writer) {
    writer.copy(block(Place::output, problem.rank), block(Place::input, 0));
  };
  Stage around{.rounds = problem.size - 1, .write = {}, .segment_bytes = segment_bytes};
  around.write = [=](int round, Writer& writer) {
    writer.send(block(Place::output, ring.passed_on(problem.rank, round)), ring.next(problem.rank));
    writer.recv(block(Place::output, ring.passed_on(ring.previous(problem.rank), round)),
                ring.previous(problem.rank));
  };
  return {.stages = {own, around}};
}

TEST(ExecutorMessages, RingAllgatherAlsoInPlace) {
  for (const auto& host : hosts()) {
    for (int size = 1; size <= most_ranks; size += 2) {
      std::vector<Call> calls;
      for (const std::int64_t count : counts_for(size)) {
        for (const bool is_in_place : {false, true}) {
          Values all;
          for (int rank = 0; rank < size; ++rank) {
            const Values one = values(rank, 0, count);
            all.insert(all.end(), one.begin(), one.end());
          }
          calls.push_back({.operation = Operation::allgather,
                           .is_in_place = is_in_place,
                           .elements = count,
                           .build = [](const Problem& problem) { return ring_allgather(problem, 24); },
                           .fill =
                               [=](int rank, Values* input, Values* output) {
                                 output->assign(count * size, -1);
                                 const Values own = values(rank, 0, count);
                                 if (!is_in_place) *input = own;
                                 if (is_in_place)
                                   std::copy(own.begin(), own.end(), output->begin() + rank * count);
                               },
                           .check = [=](int, const Values& output) { EXPECT_EQ(output, all); }});
        }
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

// Recursive doubling with the extras folded onto their neighbours; operands stay in the order of ranks.
Program doubling_allreduce(const Problem& problem, std::int64_t segment_bytes) {
  const patterns::Folding folding(problem.size);
  const auto self = folding.at(problem.rank);
  const Ref result = whole(Place::output), other = whole(Place::scratch);
  Stage stage{.rounds = folding.rounds() + 2, .write = {}, .segment_bytes = segment_bytes};
  stage.write = [=](int round, Writer& writer) {
    using Role = patterns::Folding::Role;
    if (round == 0) {
      writer.copy(result, whole(Place::input));
      if (self.role == Role::extra) writer.send(result, self.partner);
      if (self.role == Role::proxy) {
        writer.recv(other, self.partner);
        const bool is_first = problem.rank < self.partner;
        writer.reduce(result, is_first ? result : other, is_first ? other : result);
      }
    } else if (round <= folding.rounds()) {
      if (self.role == Role::extra) return;
      const auto step = patterns::recursive_doubling(self.index, round - 1);
      const int partner = folding.rank_of(step.partner);
      writer.send(result, partner);
      writer.recv(other, partner);
      const bool is_first = step.first < step.partner_first;
      writer.reduce(result, is_first ? result : other, is_first ? other : result);
    } else {
      if (self.role == Role::proxy) writer.send(result, self.partner);
      if (self.role == Role::extra) writer.recv(result, self.partner);
    }
  };
  return {.stages = {stage}, .scratch = 1};
}

TEST(ExecutorMessages, RecursiveDoublingAllreduceKeepsTheOrderOfRanks) {
  for (const auto& host : hosts()) {
    for (int size = 1; size <= most_ranks; ++size) {
      std::vector<Call> calls;
      for (const std::int64_t count : counts_for(size)) {
        for (const std::int64_t segment_bytes : {0, 16}) {
          for (const bool is_in_place : {false, true}) {
            calls.push_back(
                {.operation = Operation::allreduce,
                 .is_in_place = is_in_place,
                 .elements = count,
                 .build = [=](const Problem& problem) { return doubling_allreduce(problem, segment_bytes); },
                 .combine = {.call = join_runs, .element_bytes = 8},
                 .fill =
                     [=](int rank, Values* input, Values* output) {
                       (is_in_place ? *output : *input).assign(count, run_of(rank, rank));
                       output->resize(count, -1);
                     },
                 .check =
                     [=](int, const Values& output) {
                       EXPECT_EQ(output, Values(count, run_of(0, size - 1)));
                     }});
          }
        }
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

Program pairwise_alltoall(const Problem& problem, std::int64_t segment_bytes) {
  Stage stage{.rounds = problem.size, .write = {}, .segment_bytes = segment_bytes};
  stage.write = [=](int round, Writer& writer) {
    if (round == 0) {
      writer.copy(block(Place::output, problem.rank), block(Place::input, problem.rank));
      return;
    }
    const auto pair = patterns::pairwise(problem.rank, round, problem.size);
    writer.send(block(Place::input, pair.to), pair.to);
    writer.recv(block(Place::output, pair.from), pair.from);
  };
  return {.stages = {stage}};
}

TEST(ExecutorMessages, PairwiseAlltoall) {
  for (const auto& host : hosts()) {
    for (int size = 1; size <= most_ranks; ++size) {
      std::vector<Call> calls;
      for (const std::int64_t count : counts_for(size)) {
        calls.push_back({.operation = Operation::alltoall,
                         .elements = count,
                         .build = [](const Problem& problem) { return pairwise_alltoall(problem, 80); },
                         .fill =
                             [=](int rank, Values* input, Values* output) {
                               *input = values(rank, 0, count * size);
                               output->assign(count * size, -1);
                             },
                         .check =
                             [=](int rank, const Values& output) {
                               for (std::int64_t i = 0; i < count * size; ++i) {
                                 const int from = static_cast<int>(i / count);
                                 EXPECT_EQ(output[i], value(from, rank * count + i % count));
                               }
                             }});
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

// Everybody sends to the root, which reduces in scratch; ranks off the root have no output.
Program flat_reduce(const Problem& problem, std::int64_t segment_bytes) {
  Stage stage{.rounds = 1, .write = {}, .segment_bytes = segment_bytes};
  stage.write = [=](int, Writer& writer) {
    // The others, too, write to their output: it is backed where MPI gives none.
    writer.copy(whole(Place::output), whole(Place::input));
    if (problem.rank != problem.root) {
      writer.send(whole(Place::output), problem.root);
      return;
    }
    for (int rank = 0; rank < problem.size; ++rank) {
      const Ref other = whole(Place::scratch).shifted(rank);
      if (rank == problem.root) writer.copy(other, whole(Place::output));
      if (rank != problem.root) writer.recv(other, rank);
    }
    for (int rank = 1; rank < problem.size; ++rank) {
      const Ref sum = whole(Place::scratch);
      writer.reduce(sum, sum, whole(Place::scratch).shifted(rank));
    }
    writer.copy(whole(Place::output), whole(Place::scratch));
  };
  return {.stages = {stage}, .scratch = problem.size};
}

TEST(ExecutorMessages, FlatReduceWithOutputOnRootAlone) {
  for (const auto& host : hosts()) {
    for (const int size : {1, 2, 5}) {
      std::vector<Call> calls;
      for (const std::int64_t count : counts_for(size)) {
        for (const bool is_in_place : {false, true}) {
          const int root = size - 1;
          calls.push_back({.operation = Operation::reduce,
                           .root = root,
                           .is_in_place = is_in_place,
                           .elements = count,
                           .build = [](const Problem& problem) { return flat_reduce(problem, 32); },
                           .combine = {.call = join_runs, .element_bytes = 8},
                           .fill =
                               [=](int rank, Values* input, Values* output) {
                                 input->assign(count, run_of(rank, rank));
                                 if (rank == root) output->assign(count, -1);
                                 if (rank == root && is_in_place) output->swap(*input);
                               },
                           .check =
                               [=](int rank, const Values& output) {
                                 if (rank != root) return;
                                 EXPECT_EQ(output, Values(count, run_of(0, size - 1)));
                               }});
        }
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

// Two stages cut differently: the chain of the second begins as pieces of the first arrive.
Program two_chains(const Problem& problem, std::int64_t first_segment, std::int64_t second_segment) {
  Program program = chain_bcast(problem, first_segment, 2);
  Stage onwards{.rounds = problem.size, .write = {}, .segment_bytes = second_segment};
  onwards.write = [=](int round, Writer& writer) {
    // Back along the chain, into scratch, and compared by adding up.
    const int last = problem.size - 1;
    if (round == last - problem.rank - 1) writer.recv(whole(Place::scratch), problem.rank + 1);
    if (round == last - problem.rank && problem.rank > 0) {
      writer.send(problem.rank == last ? whole(Place::output) : whole(Place::scratch), problem.rank - 1);
    }
    if (round == problem.size - 1 && problem.rank < last) {
      writer.reduce(whole(Place::output), whole(Place::output), whole(Place::scratch));
    }
  };
  program.stages.push_back(onwards);
  program.scratch = 1;
  return program;
}

TEST(ExecutorMessages, StagesWithDifferentPieces) {
  for (const auto& host : hosts()) {
    for (const int size : {2, 3, 6}) {
      std::vector<Call> calls;
      for (const std::int64_t count : {0, 1, 7, 61}) {
        for (const auto& [first, second] :
             {std::pair{8, 24}, std::pair{24, 8}, std::pair{0, 16}, std::pair{40, 56}}) {
          calls.push_back(
              {.operation = Operation::bcast,
               .elements = count,
               .build = [=, first = first, second = second](
                            const Problem& problem) { return two_chains(problem, first, second); },
               .fill = [=](int rank, Values*,
                           Values* output) { *output = rank == 0 ? values(0, 0, count) : Values(count, -1); },
               .check =
                   [=](int rank, const Values& output) {
                     const int times = rank == size - 1 ? 1 : 2;
                     for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(output[i], times * value(0, i));
                   }});
        }
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

Program gather_to_root(const Problem& problem) {
  Stage stage{.rounds = 1, .write = {}, .segment_bytes = 16};
  stage.write = [=](int, Writer& writer) {
    if (problem.rank != problem.root) writer.send(block(Place::input, 0), problem.root);
    if (problem.rank != problem.root) return;
    for (int rank = 0; rank < problem.size; ++rank) {
      if (rank == problem.rank) writer.copy(block(Place::output, rank), block(Place::input, 0));
      if (rank != problem.rank) writer.recv(block(Place::output, rank), rank);
    }
  };
  return {.stages = {stage}};
}

Program scatter_from_root(const Problem& problem) {
  Stage stage{.rounds = 1, .write = {}, .segment_bytes = 16};
  stage.write = [=](int, Writer& writer) {
    if (problem.rank != problem.root) writer.recv(block(Place::output, 0), problem.root);
    if (problem.rank != problem.root) return;
    for (int rank = 0; rank < problem.size; ++rank) {
      if (rank == problem.rank) writer.copy(block(Place::output, 0), block(Place::input, rank));
      if (rank != problem.rank) writer.send(block(Place::input, rank), rank);
    }
  };
  return {.stages = {stage}};
}

TEST(ExecutorMessages, GatherAndScatterInPlaceOnTheRoot) {
  for (const bool is_in_place : {false, true}) {
    constexpr int size = 5, root = 3;
    std::vector<Call> calls;
    for (const std::int64_t count : counts_for(size)) {
      calls.push_back({.operation = Operation::gather,
                       .root = root,
                       .is_in_place = is_in_place,
                       .elements = count,
                       .build = gather_to_root,
                       .fill =
                           [=](int rank, Values* input, Values* output) {
                             if (rank != root) *input = *output = values(rank, 0, count * size);
                             if (rank != root) return;
                             output->assign(count * size, -1);
                             const Values own = values(rank, 0, count);
                             std::copy(own.begin(), own.end(), output->begin() + root * count);
                             if (!is_in_place) *input = own;
                           },
                       .check =
                           [=](int rank, const Values& output) {
                             for (std::int64_t i = 0; rank == root && i < count * size; ++i) {
                               EXPECT_EQ(output[i], value(static_cast<int>(i / count), i % count));
                             }
                           }});
      calls.push_back({.operation = Operation::scatter,
                       .root = root,
                       .is_in_place = is_in_place,
                       .elements = count,
                       .build = scatter_from_root,
                       .fill =
                           [=](int rank, Values* input, Values* output) {
                             *input = values(rank, 0, count * size);
                             if (rank != root || !is_in_place) output->assign(count, -1);
                           },
                       .check =
                           [=](int rank, const Values& output) {
                             if (rank == root && is_in_place) return;
                             EXPECT_EQ(output, values(root, rank * count, count));
                           }});
    }
    run_calls({.size = size}, calls);
  }
}

// A barrier has no data: tokens keep the order in which they are written.
Program dissemination_barrier(const Problem& problem) {
  int rounds = 0;
  while ((1 << rounds) < problem.size) ++rounds;
  Stage stage{.rounds = rounds, .write = {}};
  stage.write = [=](int round, Writer& writer) {
    const auto pair = patterns::dissemination(problem.rank, round, problem.size);
    writer.send(token(), pair.to);
    writer.recv(token(), pair.from);
  };
  return {.stages = {stage}};
}

TEST(ExecutorMessages, BarrierOfTokens) {
  for (const auto& host : hosts()) {
    for (int size = 1; size <= most_ranks; ++size) {
      constexpr int times = 20;
      std::atomic<int> arrived{0};
      std::vector<Call> calls(times);
      for (int i = 0; i < times; ++i) {
        calls[i] = {.operation = Operation::barrier,
                    .build = dissemination_barrier,
                    .fill = [&](int, Values*, Values*) { ++arrived; },
                    .check = [&, i](int, const Values&) { EXPECT_GE(arrived.load(), (i + 1) * size); }};
      }
      run_calls({.size = size, .host = host}, calls);
    }
  }
}

// Between phases of data, tokens hold up what is written after them.
TEST(ExecutorMessages, TokensSeparatePhasesOfData) {
  constexpr int size = 4;
  for (const auto& host : hosts()) {
    const auto build = [](const Problem& problem) {
      Stage stage{.rounds = 3, .write = {}};
      stage.write = [=](int round, Writer& writer) {
        const int next = (problem.rank + 1) % size, previous = (problem.rank + size - 1) % size;
        if (round == 0) writer.recv(whole(Place::scratch), previous);
        if (round == 0) writer.send(whole(Place::input), next);
        if (round == 1) writer.send(token(), previous);
        if (round == 1) writer.recv(token(), next);
        if (round == 2) writer.copy(whole(Place::output), whole(Place::scratch));
      };
      return Program{.stages = {stage}, .scratch = 1};
    };
    const Call call{
        .operation = Operation::bcast,
        .elements = 10,
        .build = build,
        .fill =
            [](int rank, Values* input, Values* output) {
              *input = values(rank, 0, 10);
              output->assign(10, -1);
            },
        .check = [](int rank,
                    const Values& output) { EXPECT_EQ(output, values((rank + size - 1) % size, 0, 10)); }};
    run_calls({.size = size, .host = host}, {call, call});
  }
}

}  // namespace
}  // namespace unisono::schedule
