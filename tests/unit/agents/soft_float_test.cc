// SPDX-License-Identifier: BSD-3-Clause
// SoftFloat beside the processor, bit by bit.
#include "agents/soft_float.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "base/float_control.h"

namespace unisono::agents {
namespace {

// Numbers of all sizes, tiny ones, infinities, and what is no number.
template <class Bits>
std::vector<Bits> values(std::mt19937_64* random, std::size_t count) {
  constexpr Bits top = Bits{1} << (8 * sizeof(Bits) - 1);
  constexpr int fraction = sizeof(Bits) == 4 ? 23 : 52;
  const Bits all_exponent = static_cast<Bits>(~Bits{0} << fraction) & static_cast<Bits>(~top);
  const std::vector<Bits> special = {0,
                                     1,
                                     2,
                                     (Bits{1} << fraction) - 1,
                                     Bits{1} << fraction,
                                     (Bits{1} << fraction) + 1,
                                     all_exponent - 1,
                                     all_exponent,
                                     all_exponent | 1,
                                     all_exponent | (Bits{1} << (fraction - 1)),
                                     all_exponent | ((Bits{1} << (fraction - 1)) + 5)};
  std::vector<Bits> made;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t draw = (*random)();
    Bits bits = static_cast<Bits>((*random)());
    if (draw % 8 == 0) bits = special[draw / 8 % special.size()] | (draw >> 60 & 1 ? top : 0);
    // Near each other, so that sums cancel; near the smallest, so that products are tiny.
    if (draw % 8 == 1) bits = (bits & ~all_exponent) | (all_exponent / 2 & all_exponent);
    made.push_back(bits);
  }
  return made;
}

template <class Bits>
bool is_nan(Bits bits) {
  constexpr int fraction = sizeof(Bits) == 4 ? 23 : 52;
  const Bits all_exponent = static_cast<Bits>(~Bits{0} << fraction) & (~Bits{0} >> 1);
  return (bits & (~Bits{0} >> 1)) > all_exponent;
}

template <class Bits>
void compare(ReduceOp op, ElementType type, const FloatControl& control, std::mt19937_64* random) {
  constexpr std::size_t count = 200'000;
  const std::vector<Bits> left = values<Bits>(random, count), right = values<Bits>(random, count);
  std::vector<Bits> hard(count), soft(count);
  {
    const FloatControlForNow now(control);
    reduce_kernel(op, type)(hard.data(), left.data(), right.data(), count);
    soft_kernel(op, type)(soft.data(), left.data(), right.data(), count);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count && wrong < 3; ++i) {
    // Which of two operands that are no numbers comes out the compiler says.
    if (is_nan(left[i]) && is_nan(right[i]) && is_nan(hard[i]) && is_nan(soft[i])) continue;
    if (hard[i] == soft[i]) continue;
    ++wrong;
    ADD_FAILURE() << name(op) << " of " << name(type) << std::hex << ": " << left[i] << ", " << right[i]
                  << " gives " << soft[i] << ", not " << hard[i];
  }
}

TEST(SoftFloat, gives_the_processors_bits) {
  if (!is_soft_float_there()) GTEST_SKIP() << "built without SoftFloat";
  std::mt19937_64 random(seed());
  for (unsigned mode = 0; mode < 4; ++mode) {
    FloatControl control = FloatControl::of_this_thread();
#if defined(__x86_64__)
    control.vector = (control.vector & ~(3U << 13)) | mode << 13;
#elif defined(__aarch64__)
    control.fpcr = (control.fpcr & ~(std::uint64_t{3} << 22)) | std::uint64_t{mode} << 22;
#endif
    SCOPED_TRACE("rounding " + std::to_string(mode));
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max}) {
      compare<std::uint32_t>(op, ElementType::float32, control, &random);
      compare<std::uint64_t>(op, ElementType::float64, control, &random);
    }
#if defined(__x86_64__)
    control.vector |= 1U << 15 | 1U << 6;  // tiny numbers become 0
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod}) {
      compare<std::uint32_t>(op, ElementType::float32, control, &random);
      compare<std::uint64_t>(op, ElementType::float64, control, &random);
    }
#endif
  }
}

TEST(SoftFloat, has_no_other_kernels) {
  EXPECT_EQ(soft_kernel(ReduceOp::band, ElementType::float64), nullptr);
  EXPECT_EQ(soft_kernel(ReduceOp::sum, ElementType::int32), nullptr);
}

}  // namespace
}  // namespace unisono::agents
