// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/judging/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

namespace unisono::runtime::judge_test {
namespace {

template <typename T>
bool may_be(ReduceOp op, ElementType element, T one, T other, const std::vector<T>& operands) {
  std::vector<const char*> all;
  for (const T& operand : operands) all.push_back(reinterpret_cast<const char*>(&operand));
  return may_both_be(op, element, reinterpret_cast<const char*>(&one), reinterpret_cast<const char*>(&other),
                     all);
}

// The same by weights, joined from the left as a host may: no two operands meet.
template <typename T>
bool may_be_by_weight(ReduceOp op, ElementType element, T one, T other, std::vector<T> operands) {
  make_weights(op, element, reinterpret_cast<char*>(operands.data()), operands.size(), sizeof(T));
  T weight = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if constexpr (requires { weight += operands[i]; }) {
      if (weight_op(op, element) == ReduceOp::sum) {
        weight += operands[i];
        continue;
      }
    }
    const auto value = [](const T& of) { return *reinterpret_cast<const float*>(&of); };
    if constexpr (std::is_same_v<T, double>) {
      weight = std::max(weight, operands[i]);
    } else if (value(operands[i]) > value(weight)) {
      weight = operands[i];
    }
  }
  return may_both_be(op, element, reinterpret_cast<const char*>(&one), reinterpret_cast<const char*>(&other),
                     reinterpret_cast<const char*>(&weight), operands.size());
}

TEST(JudgeTest, WhatMovesAndIntegersHaveOneResult) {
  EXPECT_EQ(judgement_of(Operation::allgather, ReduceOp::host, ElementType::derived), Judgement::exact);
  EXPECT_EQ(judgement_of(Operation::allreduce, ReduceOp::sum, ElementType::int32), Judgement::exact);
  EXPECT_EQ(judgement_of(Operation::scan, ReduceOp::sum, ElementType::complex64), Judgement::bounded);
  EXPECT_EQ(judgement_of(Operation::reduce, ReduceOp::host, ElementType::int32), Judgement::unknown);
  EXPECT_EQ(judgement_of(Operation::reduce, ReduceOp::sum, ElementType::other), Judgement::unknown);
}

TEST(JudgeTest, AnyTwoOrdersOfSumsAndProductsPass) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> fraction(-1, 1);
  std::uniform_int_distribution<int> exponent(-12, 12);
  for (int run = 0; run < 3000; ++run) {
    std::vector<float> operands(2 + run % 30);
    for (float& operand : operands) operand = std::ldexp(fraction(random), exponent(random));
    std::vector<float> turned = operands;
    std::shuffle(turned.begin(), turned.end(), random);
    float sums[2] = {}, products[2] = {1, 1};
    std::complex<float> complex_products[2] = {1, 1};
    std::vector<std::complex<float>> complex_operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      sums[0] += operands[i], sums[1] += turned[i];
      products[0] *= operands[i], products[1] *= turned[i];
      complex_operands.emplace_back(operands[i], -operands[i] / 3);
      complex_products[0] *= complex_operands.back();
      complex_products[1] *= std::complex<float>(turned[i], -turned[i] / 3);
    }
    EXPECT_TRUE(may_be(ReduceOp::sum, ElementType::float32, sums[0], sums[1], operands));
    EXPECT_TRUE(may_be(ReduceOp::prod, ElementType::float32, products[0], products[1], operands));
    EXPECT_TRUE(may_be(ReduceOp::prod, ElementType::complex64, complex_products[0], complex_products[1],
                       complex_operands));
    EXPECT_TRUE(may_be_by_weight(ReduceOp::sum, ElementType::float32, sums[0], sums[1], operands));
    EXPECT_TRUE(may_be_by_weight(ReduceOp::prod, ElementType::float32, products[0], products[1], operands));
    EXPECT_TRUE(may_be_by_weight(ReduceOp::prod, ElementType::complex64, complex_products[0],
                                 complex_products[1], complex_operands));
  }
}

TEST(JudgeTest, WhatNoOrderExplainsFails) {
  const std::vector<double> operands{1, 2, 3, 4};
  const double beyond = 1 + 16 * std::numeric_limits<double>::epsilon();
  EXPECT_FALSE(may_be(ReduceOp::sum, ElementType::float64, 10.0, 10.0 * beyond, operands));
  EXPECT_FALSE(may_be(ReduceOp::prod, ElementType::float64, 24.0, 24.0 * beyond, operands));
  EXPECT_FALSE(may_be(ReduceOp::sum, ElementType::float64, 10.0, std::nan(""), operands));
  EXPECT_FALSE(may_be(ReduceOp::max, ElementType::float64, 4.0, 3.0, operands));
  EXPECT_FALSE(may_be(ReduceOp::prod, ElementType::float64, 0.0, 1e-300, {1.0, 0.0}));
  using Complex = std::complex<double>;
  EXPECT_FALSE(may_be(ReduceOp::sum, ElementType::complex128, Complex(3, 4), Complex(3, 5),
                      {Complex(1, 2), Complex(2, 2)}));
  struct Place {
    float value;
    std::int32_t index;
  };
  EXPECT_FALSE(may_be(ReduceOp::maxloc, ElementType::float_int, Place{2, 1}, Place{2, 0}, {{1, 0}, {2, 1}}));
}

TEST(JudgeTest, WeightsFailWhatOperandsFail) {
  const std::vector<double> operands{1, -2, 3, -4};
  const double beyond = 1 + 64 * std::numeric_limits<double>::epsilon();
  EXPECT_FALSE(may_be_by_weight(ReduceOp::sum, ElementType::float64, -2.0, -2.0 * beyond, operands));
  EXPECT_FALSE(may_be_by_weight(ReduceOp::prod, ElementType::float64, 24.0, 24.0 * beyond, operands));
  EXPECT_FALSE(may_be_by_weight(ReduceOp::sum, ElementType::float64, 10.0, std::nan(""), operands));
  EXPECT_FALSE(may_be_by_weight(ReduceOp::max, ElementType::float64, 4.0, 3.0, operands));
  EXPECT_FALSE(may_be_by_weight(ReduceOp::prod, ElementType::float64, 0.0, 1e-300, {1.0, 0.0}));
  using Complex = std::complex<double>;
  EXPECT_FALSE(may_be_by_weight(ReduceOp::sum, ElementType::complex128, Complex(3, 4), Complex(3, 5),
                                {Complex(1, 2), Complex(2, 2)}));
  EXPECT_FALSE(may_be_by_weight(ReduceOp::prod, ElementType::complex128, Complex(0, 1), Complex(1, 0),
                                {Complex(0, 1), Complex(1, 0)}));
  struct Place {
    float value;
    std::int32_t index;
  };
  EXPECT_FALSE(
      may_be_by_weight(ReduceOp::maxloc, ElementType::float_int, Place{2, 1}, Place{2, 0}, {{1, 0}, {2, 1}}));
}

TEST(JudgeTest, WeightsPassWhereOrdersMayOverflow) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_TRUE(may_be_by_weight(ReduceOp::sum, ElementType::float64, std::numeric_limits<double>::infinity(),
                               1.0, {most, most, -most, -most, 1.0}));
  EXPECT_TRUE(
      may_be_by_weight(ReduceOp::prod, ElementType::float64, 0.0, 1.0, {1e-300, 1e300, 1e-300, 1e300}));
  EXPECT_TRUE(may_be_by_weight(ReduceOp::sum, ElementType::float64, std::nan(""), 1.0, {std::nan(""), 1.0}));
  EXPECT_TRUE(may_be_by_weight(ReduceOp::min, ElementType::float64, 1.0, 2.0, {std::nan(""), 1.0, 2.0}));
  EXPECT_TRUE(may_be_by_weight(ReduceOp::min, ElementType::float64, 0.0, -0.0, {-0.0, 0.0}));
}

TEST(JudgeTest, WhereOrdersMayOverflowAnythingPasses) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_TRUE(may_be(ReduceOp::sum, ElementType::float64, std::numeric_limits<double>::infinity(), 1.0,
                     {most, most, -most, -most, 1.0}));
  EXPECT_TRUE(may_be(ReduceOp::prod, ElementType::float64, 0.0, 1.0, {1e-300, 1e300, 1e-300, 1e300}));
  EXPECT_TRUE(may_be(ReduceOp::sum, ElementType::float64, std::nan(""), 1.0, {std::nan(""), 1.0}));
  EXPECT_TRUE(may_be(ReduceOp::min, ElementType::float64, 0.0, -0.0, {-0.0, 0.0}));
}

TEST(JudgeTest, ValuesAreReadable) {
  const double number = 1.5;
  EXPECT_EQ(value_text(ElementType::float64, reinterpret_cast<const char*>(&number), 8), "1.5");
  const std::int16_t whole = -3;
  EXPECT_EQ(value_text(ElementType::int16, reinterpret_cast<const char*>(&whole), 2), "-3");
  EXPECT_EQ(value_text(ElementType::derived, "\x01\x02", 2), "0x0102");
}

}  // namespace
}  // namespace unisono::runtime::judge_test
