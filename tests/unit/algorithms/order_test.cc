// SPDX-License-Identifier: BSD-3-Clause
// Which reductions can be reproducible (B5): what descriptors say is what the checker finds, in both
// directions.
#include "algorithms/building/order.h"

#include <gtest/gtest.h>

#include "proof/check_algorithm.h"
#include "proof/check_cases.h"

namespace unisono::algorithms {
namespace {

using proof::CheckedCall;
using schedule::Ref;
using schedule::Step;

std::vector<const Descriptor*> reductions() {
  std::vector<const Descriptor*> all;
  for (const Descriptor& descriptor : registry()) {
    if (is_reduction(descriptor.operation)) all.push_back(&descriptor);
  }
  return all;
}

// What the checker says of the algorithm at these numbers of ranks, on all layouts that it could be legal on.
// It is asked for one order, whatever the algorithm's descriptor says of that.
std::vector<std::string> failures_in_one_order(Descriptor descriptor, const std::vector<int>& sizes) {
  descriptor.legality.keeps_one_order = true;
  std::vector<std::string> failures;
  for (const int size : sizes) {
    for (const proof::CheckShape& shape : proof::check_shapes(descriptor, size, 1)) {
      if (!shape.is_reproducible) continue;
      const CheckedCall call = spread_out(descriptor, shape, &failures);
      const std::int64_t elements = 2 * size + 1;
      const proof::CheckLoad load = load_for(descriptor, call, elements, 2, proof::Cut::forced);
      for (const std::string& text : proof::check({&call}, {elements}, load, {.orders = 0})) {
        failures.push_back(shape.describe(descriptor) + ": " + text);
      }
      if (!failures.empty()) return failures;
    }
  }
  return failures;
}

// Powers of two, what is next to them, and a multiple of a small one.
const std::vector<int> sizes{2, 3, 4, 5, 7, 8, 12, 16};

TEST(OrderTest, DescriptorsSayWhatTheCheckerFinds) {
  int claims = 0;
  for (const Descriptor* descriptor : reductions()) {
    // Algorithms that demand a commutative operator say nothing of any order.
    if (descriptor->legality.needs_commutative) {
      EXPECT_FALSE(descriptor->legality.keeps_one_order) << descriptor->name;
      continue;
    }
    const std::vector<std::string> failures = failures_in_one_order(*descriptor, sizes);
    EXPECT_EQ(failures.empty(), descriptor->legality.keeps_one_order)
        << name(descriptor->operation) << "/" << descriptor->name << ": "
        << (failures.empty() ? "keeps the one order, but does not say so" : failures.front());
    claims += descriptor->legality.keeps_one_order ? 1 : 0;
  }
  EXPECT_GE(claims, 40);
}

TEST(OrderTest, AnotherOrderIsCaught) {
  Descriptor other = *find(Operation::reduce, "flat");
  const std::vector<std::string> failures = failures_in_one_order(other, {4});
  ASSERT_FALSE(failures.empty());
  EXPECT_NE(failures.front().find("joined in another order than the reproducible one"), std::string::npos)
      << failures.front();
}

// The order in words, as the documents give it.
std::string order_in_words(int ranks) {
  std::vector<Step> steps;
  schedule::Writer writer(&steps);
  const auto operand = [](int rank) { return block(schedule::Place::input, rank); };
  const auto temporary = [](int i) { return block(schedule::Place::scratch, i); };
  join_in_order(writer, ranks, whole(schedule::Place::output), operand, temporary);
  std::vector<std::string> partial(static_cast<std::size_t>(temporaries_of_order(ranks)));
  std::string result;
  const auto text = [&](const Ref& ref) {
    return ref.place == schedule::Place::input ? std::to_string(ref.first)
                                               : partial.at(static_cast<std::size_t>(ref.first));
  };
  for (const Step& step : steps) {
    std::string joined(1, '(');
    joined.append(text(step.left)).append(1, ' ').append(text(step.right)).append(1, ')');
    (step.into.place == schedule::Place::output ? result : partial.at(step.into.first)) = std::move(joined);
  }
  return result;
}

TEST(OrderTest, IsATreeByRankNumberAlone) {
  EXPECT_EQ(order_in_words(2), "(0 1)");
  EXPECT_EQ(order_in_words(3), "((0 1) 2)");
  EXPECT_EQ(order_in_words(4), "((0 1) (2 3))");
  EXPECT_EQ(order_in_words(5), "(((0 1) 2) (3 4))");
  EXPECT_EQ(order_in_words(6), "(((0 1) (2 3)) (4 5))");
  EXPECT_EQ(order_in_words(7), "(((0 1) (2 3)) ((4 5) 6))");
  EXPECT_EQ(order_in_words(8), "(((0 1) (2 3)) ((4 5) (6 7)))");
}

}  // namespace
}  // namespace unisono::algorithms
