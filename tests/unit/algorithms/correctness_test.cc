// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of the registry, wherever it is legal: 1 to 33 ranks, all roots, many layouts, counts and
// parameters. An algorithm that is added is tested here without a line of test code.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../case_turns.h"
#include "interpreter.h"
#include "proof/check_graphs.h"
#include "proof/check_load.h"

namespace unisono::algorithms::testing {
namespace {

// Above so many ranks not everything is combined with everything.
constexpr int largest_varied = 10, most_ranks_on_all_layouts = 17;

std::vector<patterns::Layout> layouts(int size) {
  std::vector<patterns::Layout> all{patterns::Layout::one_node(size)};
  std::vector<int> each(size);
  std::vector<int> uneven(size);
  std::vector<int> cyclic(size);
  std::vector<int> odd(size);
  for (int rank = 0; rank < size; ++rank) {
    each[rank] = rank;
    uneven[rank] = rank < 2 ? 0 : rank < 3 ? 1 : 2 + (rank - 3) / 4;
    cyclic[rank] = rank % 3;
    odd[rank] = rank * 7 % 5 / 2;
  }
  for (const auto& labels : {each, uneven, cyclic, odd}) all.push_back(patterns::Layout::from_labels(labels));
  for (int ranks = 2; ranks < size; ++ranks) {
    if (size % ranks == 0)
      all.push_back(*patterns::Layout::parse(std::to_string(size / ranks) + "x" + std::to_string(ranks)));
  }
  return all;
}

bool is_legal(const Case& tested) {
  schedule::Problem problem{.operation = tested.descriptor->operation,
                            .size = tested.layout.size(),
                            .is_commutative = tested.is_commutative};
  problem.layout = std::make_shared<const patterns::Layout>(tested.layout);
  return why_illegal(*tested.descriptor, problem, 1, true, true).empty();
}

std::vector<Parameters> parameter_sets(const Descriptor& descriptor) {
  std::vector<Parameters> all{with_standards(descriptor)};
  Parameters small;
  for (const ParameterSpec& spec : descriptor.parameters)
    small.set(spec.name, spec.unit == "bytes" ? 24 : spec.low);
  if (!descriptor.parameters.empty()) all.push_back(with_standards(descriptor, small));
  return all;
}

std::vector<std::int64_t> counts(const Case& tested) {
  const std::int64_t size = tested.layout.size();
  if (tested.descriptor->operation == Operation::barrier) return {1};
  if (size > largest_varied) return {size + 5};
  return {0, 1, std::max<std::int64_t>(1, size - 1), size + 5};
}

// All that may vary beside layout and root.
void expect_variants(Case tested) {
  const Operation operation = tested.descriptor->operation;
  // An alltoall in place gets a copy of its input from the runtime, a scattered reduction too.
  const bool is_copied = operation == Operation::alltoall || is_uneven_alltoall(operation) ||
                         operation == Operation::reduce_scatter_block ||
                         operation == Operation::reduce_scatter;
  const bool can_be_in_place =
      (is_reduction(operation) || is_block_operation(operation)) && !is_copied && !is_neighborhood(operation);
  for (const Parameters& parameters : parameter_sets(*tested.descriptor)) {
    tested.parameters = parameters;
    for (const std::int64_t elements : counts(tested)) {
      tested.elements = elements;
      for (const bool is_in_place : {false, true}) {
        if (is_in_place && !can_be_in_place) continue;
        tested.is_in_place = is_in_place;
        tested.pattern = (tested.pattern + 1) % proof::block_patterns;
        ASSERT_EQ(fault_of(tested), "");
      }
    }
  }
}

void expect_roots(Case tested) {
  const int size = tested.layout.size();
  const int roots = is_rooted(tested.descriptor->operation) ? size : 1;
  for (tested.root = 0; tested.root < roots; ++tested.root) {
    if (size <= largest_varied || tested.root == 0 || tested.root == size / 2) {
      expect_variants(tested);
    } else {
      tested.parameters = with_standards(*tested.descriptor);
      tested.elements = 7;
      ASSERT_EQ(fault_of(tested), "");
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Of neighbours: some of the graphs each time, all of them on the way.
void expect_graphs(Case tested) {
  const Operation operation = tested.descriptor->operation;
  if (!is_neighborhood(operation)) return expect_roots(tested);
  schedule::Problem problem{.operation = operation, .size = tested.layout.size()};
  problem.layout = std::make_shared<const patterns::Layout>(tested.layout);
  const std::vector<proof::NamedGraph> graphs = proof::named_graphs(problem.size);
  constexpr std::size_t step = 3;
  for (std::size_t i = static_cast<std::size_t>(problem.layout->nodes()) % step; i < graphs.size();
       i += step) {
    tested.graph = std::make_shared<const proof::CheckedGraph>(problem, graphs[i].graph);
    expect_variants(tested);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void expect_size(Case tested, int size) {
  int number = size;
  for (const patterns::Layout& layout : layouts(size)) {
    // Every second one of many ranks: the next numbers of ranks have the others.
    if (size > most_ranks_on_all_layouts && number++ % 2 != 0) continue;
    if (!tested.descriptor->legality.needs_several_nodes && layout.nodes() > 1) continue;
    tested.layout = layout;
    // What keeps the operands' order without need is right with need.
    tested.is_commutative = false;
    if (!is_legal(tested)) tested.is_commutative = true;
    if (is_legal(tested)) expect_graphs(tested);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class Algorithm : public ::testing::TestWithParam<const Descriptor*> {};

TEST_P(Algorithm, KeepsTheOperationsPromise) {
  Case tested{.descriptor = GetParam()};
  // Around powers of two and squares; what lies between is proved by `unisono check`, another way.
  constexpr std::array sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 25, 31, 32, 33};
  int place = static_cast<int>(tested.descriptor - registry().data());
  for (const int size : sizes) {
    if (case_turns().has(place++)) expect_size(tested, size);
    if (HasFatalFailure()) return;
  }
}

std::vector<const Descriptor*> all_descriptors() {
  std::vector<const Descriptor*> all;
  for (const Descriptor& descriptor : registry()) all.push_back(&descriptor);
  return all;
}

std::string test_name(const ::testing::TestParamInfo<const Descriptor*>& info) {
  return std::string(name(info.param->operation)) + "_" + info.param->name;
}

INSTANTIATE_TEST_SUITE_P(Registry, Algorithm, ::testing::ValuesIn(all_descriptors()), test_name);

}  // namespace
}  // namespace unisono::algorithms::testing
