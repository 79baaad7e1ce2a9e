// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of the registry, run by the executor on real memory: threads as ranks, messages with
// delays, slices in real shared memory. An algorithm that is added runs here without a line of test code.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "../case_turns.h"
#include "algorithms/catalogue/descriptor.h"
#include "proof/check_graphs.h"
#include "proof/check_load.h"
#include "world_of_programs.h"

namespace unisono::schedule {
namespace {

using algorithms::Descriptor;
using algorithms::Parameters;

std::int64_t value(int from, int to, std::int64_t i) {
  return from * 1000000 + to * 10000 + i;
}

std::vector<std::int64_t> counts_for(int size) {
  return {0, 1, size - 1, 61, 1300};
}

std::vector<Parameters> parameter_sets(const Descriptor& descriptor) {
  Parameters small;
  for (const auto& spec : descriptor.parameters) {
    small.set(spec.name, spec.name == "overlap" ? 16 : spec.unit == "bytes" ? 40 : spec.low);
  }
  std::vector<Parameters> sets{algorithms::with_standards(descriptor)};
  if (!descriptor.parameters.empty()) sets.push_back(algorithms::with_standards(descriptor, small));
  return sets;
}

class Case {
 public:
  Case(const Descriptor& descriptor, const Parameters& parameters,
       const std::shared_ptr<const patterns::Layout>& layout, int root, std::int64_t elements,
       bool is_in_place, bool is_commutative)
      : size_(layout->size()), root_(root), elements_(elements), is_in_place_(is_in_place) {
    call_.operation = descriptor.operation;
    call_.root = is_rooted(descriptor.operation) ? root : 0;
    call_.elements = descriptor.operation == Operation::barrier ? 0 : elements;
    call_.pattern = static_cast<int>(elements + root) % proof::block_patterns;
    call_.is_in_place = is_in_place;
    call_.is_commutative = is_commutative;
    call_.build = [&descriptor, parameters](const Problem& problem) {
      return descriptor.build(problem, parameters);
    };
    call_.combine = {.call = is_commutative ? add_values : join_runs, .element_bytes = sizeof(std::int64_t)};
    if (descriptor.operation == Operation::barrier) {
      watch_arrivals();
      return;
    }
    if (is_neighborhood(descriptor.operation)) {
      add_graph(layout, descriptor.name);
      if (descriptor.legality.needs_whole_graph) {
        const auto graph = std::make_shared<const patterns::Neighborhood>(call_.graph->all());
        call_.build = [&descriptor, parameters, graph](Problem problem) {
          problem.neighborhood = graph;
          return descriptor.build(problem, parameters);
        };
      }
      return;
    }
    call_.fill = [own = *this](int rank, Values* input, Values* output) { own.fill(rank, input, output); };
    const std::string name = descriptor.name;
    call_.check = [own = *this, name](int rank, const Values& output) {
      EXPECT_EQ(output, own.expected(rank))
          << unisono::name(own.call_.operation) << '/' << name << ", rank " << rank << " of " << own.size_
          << ", " << own.elements_ << " elements, root " << own.root_;
    };
  }
  const Call& call() const { return call_; }

 private:
  // Nobody leaves a barrier before all have come.
  void watch_arrivals() {
    const auto arrived = std::make_shared<std::atomic<int>>(0);
    call_.fill = [arrived](int, Values*, Values*) { ++*arrived; };
    call_.check = [arrived, size = size_](int, const Values&) { EXPECT_GE(arrived->load(), size); };
  }

  // One graph after the other, as roots change. A block's values name who sends it, which one it is of his.
  void add_graph(const std::shared_ptr<const patterns::Layout>& layout, const std::string& name) {
    const auto graphs = proof::named_graphs(size_);
    const auto& [graph_name, graph] = graphs[static_cast<std::size_t>(root_ + elements_) % graphs.size()];
    const Problem problem{.operation = call_.operation, .size = size_, .layout = layout};
    call_.root = 0;
    call_.graph = std::make_shared<const proof::CheckedGraph>(problem, graph);
    call_.fill = [own = *this](int rank, Values* input, Values* output) {
      for (int block = 0; block < own.call_.graph->sent_blocks(rank); ++block)
        append(input, own.sent(rank, block));
      output->assign(own.received(rank).size(), -1);
    };
    call_.check = [own = *this, name, graph_name](int rank, const Values& output) {
      EXPECT_EQ(output, own.received(rank))
          << unisono::name(own.call_.operation) << '/' << name << ", graph " << graph_name << ", rank "
          << rank << " of " << own.size_ << ", " << own.elements_ << " elements";
    };
  }
  Values sent(int rank, int block) const {
    Values made;
    for (std::int64_t i = 0; i < call_.graph->sent(rank, block, elements_, call_.pattern); ++i)
      made.push_back(value(rank, block, i));
    return made;
  }
  Values received(int rank) const {
    Values made;
    for (int i = 0; i < call_.graph->received_blocks(rank); ++i) {
      const proof::CheckedGraph::Source source = call_.graph->source(rank, i);
      if (source.rank != patterns::no_neighbor) {
        append(&made, sent(source.rank, source.block));
      } else {
        made.resize(made.size() + call_.graph->received(rank, i, elements_, call_.pattern), -1);
      }
    }
    return made;
  }

  bool is_at_root(int rank) const { return rank == root_; }
  Values block(int from, int to) const {
    const Problem problem{.operation = call_.operation, .size = size_};
    const std::int64_t length = has_uneven_blocks(call_.operation)
                                    ? proof::block_length(problem, elements_, call_.pattern, from, to)
                                    : elements_;
    Values made;
    for (std::int64_t i = 0; i < length; ++i) made.push_back(value(from, to, i));
    return made;
  }
  // Of gathers: what all ranks before this one have.
  std::int64_t start(int rank) const {
    std::int64_t before = 0;
    for (int other = 0; other < rank; ++other) before += std::ssize(block(other, 0));
    return before;
  }
  static void append(Values* values, const Values& more) {
    values->insert(values->end(), more.begin(), more.end());
  }
  // What the first `count` ranks have for rank `to`, joined.
  Values joined(int count, int to) const {
    Values result = block(0, to);
    if (!call_.is_commutative) {
      std::ranges::fill(result, run_of(0, count - 1));
      return result;
    }
    for (int from = 1; from < count; ++from) {
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] += value(from, to, static_cast<std::int64_t>(i));
    }
    return result;
  }
  Values own_part(int rank, int to = 0) const {
    Values own = block(rank, to);
    if (!call_.is_commutative) std::ranges::fill(own, run_of(rank, rank));
    return own;
  }

  // What the rank brings, and room for what it gets.
  void fill(int rank, Values* input, Values* output) const {
    const Values result = expected(rank);
    output->assign(result.size(), -1);
    const bool is_here = is_in_place_ && (!is_rooted(call_.operation) || is_at_root(rank));
    switch (call_.operation) {
      default:
        break;
      case Operation::bcast:
        if (is_at_root(rank)) *output = block(root_, 0);
        return;
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::scan:
      case Operation::exscan:
        (is_here ? *output : *input) = own_part(rank);
        return;
      case Operation::gather:
      case Operation::allgather:
      case Operation::gatherv:
      case Operation::allgatherv:
        if (!is_here) *input = block(rank, 0);
        if (is_here) std::ranges::copy(block(rank, 0), output->begin() + start(rank));
        return;
      case Operation::scatterv:
      case Operation::scatter:
        if (!is_at_root(rank)) return;
        for (int to = 0; to < size_; ++to) append(input, block(rank, to));
        return;
      case Operation::alltoall:
      case Operation::alltoallv:
      case Operation::alltoallw:
        for (int to = 0; to < size_; ++to) append(input, block(rank, to));
        return;
      case Operation::reduce_scatter:
      case Operation::reduce_scatter_block:
        for (int to = 0; to < size_; ++to) {
          append(input, own_part(rank, to));
        }
        return;
    }
  }

  // Empty where the output is not significant.
  Values expected(int rank) const {
    Values result;
    switch (call_.operation) {
      default:
        break;
      case Operation::bcast:
        return block(root_, 0);
      case Operation::reduce:
      case Operation::allreduce:
        if (call_.operation == Operation::reduce && !is_at_root(rank)) break;
        return joined(size_, 0);
      case Operation::reduce_scatter:
      case Operation::reduce_scatter_block:
        return joined(size_, rank);
      case Operation::scan:
        return joined(rank + 1, 0);
      case Operation::exscan:
        if (rank > 0) return joined(rank, 0);
        if (is_in_place_) return own_part(0);
        break;
      case Operation::gather:
      case Operation::gatherv:
        if (!is_at_root(rank)) break;
        [[fallthrough]];
      case Operation::allgatherv:
      case Operation::allgather:
        for (int from = 0; from < size_; ++from) append(&result, block(from, 0));
        break;
      case Operation::scatterv:
      case Operation::scatter:
        if (!is_in_place_ || !is_at_root(rank)) return block(root_, rank);
        break;
      case Operation::alltoall:
      case Operation::alltoallv:
      case Operation::alltoallw:
        for (int from = 0; from < size_; ++from) append(&result, block(from, rank));
        break;
    }
    return result;
  }

  Call call_;
  int size_, root_;
  std::int64_t elements_;
  bool is_in_place_;
};

void add_cases(const Descriptor& descriptor, const patterns::Layout& layout, std::vector<Call>* calls) {
  const int size = layout.size();
  const Operation operation = descriptor.operation;
  const bool has_single_copy = std::getenv("TEST_WITHOUT_SINGLE_COPY") == nullptr;
  // The runtime copies the input of most that send to all.
  const bool is_copied = operation == Operation::alltoall || is_uneven_alltoall(operation) ||
                         operation == Operation::reduce_scatter_block ||
                         operation == Operation::reduce_scatter;
  const bool can_be_in_place = operation != Operation::barrier && operation != Operation::bcast &&
                               !is_copied && !is_neighborhood(operation);
  for (const bool is_commutative : {true, false}) {
    if (!is_commutative && !is_reduction(operation)) continue;
    Problem problem{.operation = operation, .size = size, .is_commutative = is_commutative, .blocks = {}};
    problem.layout = std::make_shared<const patterns::Layout>(layout);
    int variant = 0;
    for (const Parameters& parameters : parameter_sets(descriptor)) {
      for (const std::int64_t elements : counts_for(size)) {
        const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(std::int64_t));
        if (!algorithms::why_illegal(descriptor, problem, bytes, true, has_single_copy).empty()) continue;
        const int root = variant++ % size;
        for (const bool is_in_place : {false, true}) {
          if (is_in_place && !can_be_in_place) continue;
          calls->push_back(
              Case(descriptor, parameters, problem.layout, root, elements, is_in_place, is_commutative)
                  .call());
        }
      }
    }
  }
}

class Registry : public testing::TestWithParam<const char*> {};

TEST_P(Registry, EveryAlgorithmRuns) {
  const patterns::Layout layout = *patterns::Layout::parse(GetParam());
  std::vector<Call> all, calls;
  for (const Descriptor& descriptor : algorithms::registry()) add_cases(descriptor, layout, &all);
  ASSERT_GT(all.size(), 100u);
  const CaseTurns turns = case_turns();
  for (std::size_t i = turns.first; i < all.size(); i += turns.every) calls.push_back(all[i]);
  run_calls(on(layout, {}, 16384), calls);
}

// A part of them where sends wait for their receives, and everything comes late.
TEST_P(Registry, AlgorithmsRunOnASlowHost) {
  const patterns::Layout layout = *patterns::Layout::parse(GetParam());
  std::vector<Call> all, calls;
  for (const Descriptor& descriptor : algorithms::registry()) add_cases(descriptor, layout, &all);
  const CaseTurns turns = case_turns();
  for (std::size_t i = 3 * turns.first; i < all.size(); i += 3 * turns.every) calls.push_back(all[i]);
  fake_host::Options slow;
  slow.is_synchronous = true;
  slow.seed = 5;
  slow.max_delay = 10;
  run_calls(on(layout, slow, 16384), calls);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Registry,
                         testing::Values("1", "2", "3", "5", "8", "2x2", "3,1,4", "3x2/cyclic", "1,1,1"));

}  // namespace
}  // namespace unisono::schedule
