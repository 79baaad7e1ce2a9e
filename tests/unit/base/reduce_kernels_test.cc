// SPDX-License-Identifier: BSD-3-Clause
// Every operator on every type, on every vector unit of this machine, against the plain C expression.
#include "base/reduce_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace unisono {
namespace {

constexpr std::size_t longest = 300;

std::vector<VectorUnit> usable_units() {
  std::vector<VectorUnit> units;
  for (const VectorUnit unit : {VectorUnit::baseline, VectorUnit::avx2, VectorUnit::avx512}) {
    if (is_usable(unit)) units.push_back(unit);
  }
  return units;
}

enum class Target : std::uint8_t { apart, left, right, both };

// Runs the kernel at an odd address, with `into` apart from the operands, on either of them, or on both.
template <typename T>
void check(ReduceOp op, ElementType type, const std::function<T()>& draw,
           const std::function<T(T, T)>& expected) {
  ASSERT_EQ(element_bytes(type), sizeof(T));
  for (const VectorUnit unit : usable_units()) {
    const Kernel kernel = reduce_kernel(op, type, unit);
    ASSERT_NE(kernel, nullptr) << name(op) << ' ' << name(type);
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{64}, longest}) {
      for (const Target target : {Target::apart, Target::left, Target::right, Target::both}) {
        std::vector<T> left(count), right(count), want(count), got(count);
        for (std::size_t i = 0; i < count; ++i) {
          left[i] = draw();
          right[i] = target == Target::both ? left[i] : draw();
          want[i] = expected(left[i], right[i]);
        }
        const std::size_t bytes = count * sizeof(T);
        std::vector<char> a(bytes + 1), b(bytes + 1), apart(bytes + 2, 'x');
        if (count > 0) std::memcpy(a.data() + 1, left.data(), bytes);
        if (count > 0) std::memcpy(b.data() + 1, right.data(), bytes);
        char* from_b = target == Target::both ? a.data() + 1 : b.data() + 1;
        char* into = target == Target::apart   ? apart.data() + 1
                     : target == Target::right ? b.data() + 1
                                               : a.data() + 1;
        kernel(into, a.data() + 1, from_b, count);
        if (count > 0) std::memcpy(got.data(), into, bytes);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(got[i] == want[i])
              << name(op) << ' ' << name(type) << " unit " << static_cast<int>(unit) << " target "
              << static_cast<int>(target) << " element " << i << " of " << count;
        }
        EXPECT_EQ(apart[bytes + 1], 'x');
      }
    }
  }
}

std::mt19937_64 random_bits(5);

template <typename T>
T draw_integer() {
  const auto bits = random_bits();
  return bits % 5 == 0 ? static_cast<T>(bits >> 8 & 1U) : static_cast<T>(bits >> 8);
}
template <typename T>
T draw_real() {
  const auto bits = random_bits();
  if (bits % 31 == 0) return std::numeric_limits<T>::infinity();
  return std::ldexp(static_cast<T>(static_cast<std::int64_t>(bits)), static_cast<int>(bits % 40) - 60);
}

template <typename T>
void check_integer(ElementType type) {
  using U = std::uint64_t;  // wraps around, as the kernels must
  check<T>(ReduceOp::sum, type, draw_integer<T>,
           [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
  check<T>(ReduceOp::prod, type, draw_integer<T>,
           [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
  check<T>(ReduceOp::min, type, draw_integer<T>, [](T a, T b) { return a < b ? a : b; });
  check<T>(ReduceOp::max, type, draw_integer<T>, [](T a, T b) { return a > b ? a : b; });
  check<T>(ReduceOp::land, type, draw_integer<T>, [](T a, T b) { return static_cast<T>(a && b); });
  check<T>(ReduceOp::lor, type, draw_integer<T>, [](T a, T b) { return static_cast<T>(a || b); });
  check<T>(ReduceOp::lxor, type, draw_integer<T>, [](T a, T b) { return static_cast<T>(!a != !b); });
  check<T>(ReduceOp::band, type, draw_integer<T>, [](T a, T b) { return static_cast<T>(a & b); });
  check<T>(ReduceOp::bor, type, draw_integer<T>, [](T a, T b) { return static_cast<T>(a | b); });
  check<T>(ReduceOp::bxor, type, draw_integer<T>, [](T a, T b) { return static_cast<T>(a ^ b); });
  EXPECT_EQ(reduce_kernel(ReduceOp::minloc, type), nullptr);
}

TEST(ReduceKernels, integers) {
  check_integer<std::int8_t>(ElementType::int8);
  check_integer<std::uint8_t>(ElementType::uint8);
  check_integer<std::int16_t>(ElementType::int16);
  check_integer<std::uint16_t>(ElementType::uint16);
  check_integer<std::int32_t>(ElementType::int32);
  check_integer<std::uint32_t>(ElementType::uint32);
  check_integer<std::int64_t>(ElementType::int64);
  check_integer<std::uint64_t>(ElementType::uint64);
}

// Equal to the last bit; not-a-number counts as equal to itself.
template <typename T>
struct Exactly {
  T value{};
  bool operator==(const Exactly& other) const {
    return value == other.value ? std::signbit(value) == std::signbit(other.value)
                                : std::isnan(value) && std::isnan(other.value);
  }
};

template <typename T>
void check_real(ElementType type) {
  using E = Exactly<T>;
  const std::function<E()> draw = [] { return E{draw_real<T>()}; };
  check<E>(ReduceOp::sum, type, draw, [](E a, E b) { return E{a.value + b.value}; });
  check<E>(ReduceOp::prod, type, draw, [](E a, E b) { return E{a.value * b.value}; });
  check<E>(ReduceOp::min, type, draw, [](E a, E b) { return E{a.value < b.value ? a.value : b.value}; });
  check<E>(ReduceOp::max, type, draw, [](E a, E b) { return E{a.value > b.value ? a.value : b.value}; });
  for (const ReduceOp op :
       {ReduceOp::land, ReduceOp::lor, ReduceOp::lxor, ReduceOp::band, ReduceOp::minloc, ReduceOp::host}) {
    EXPECT_EQ(reduce_kernel(op, type), nullptr) << name(op);
  }
}

TEST(ReduceKernels, reals) {
  check_real<float>(ElementType::float32);
  check_real<double>(ElementType::float64);
}

template <typename T>
void check_complex(ElementType type) {
  struct Complex {
    Exactly<T> real, imaginary;
    bool operator==(const Complex&) const = default;
  };
  // Halves of small integers: the products are exact, so that the order of evaluation cannot matter here.
  const std::function<Complex()> draw = [] {
    return Complex{{static_cast<T>(static_cast<int>(random_bits() % 200) - 100) / 2},
                   {static_cast<T>(static_cast<int>(random_bits() % 200) - 99) / 2}};
  };
  check<Complex>(ReduceOp::sum, type, draw, [](Complex a, Complex b) {
    return Complex{{a.real.value + b.real.value}, {a.imaginary.value + b.imaginary.value}};
  });
  check<Complex>(ReduceOp::prod, type, draw, [](Complex a, Complex b) {
    return Complex{{a.real.value * b.real.value - a.imaginary.value * b.imaginary.value},
                   {a.real.value * b.imaginary.value + a.imaginary.value * b.real.value}};
  });
  EXPECT_EQ(reduce_kernel(ReduceOp::min, type), nullptr);
  EXPECT_EQ(reduce_kernel(ReduceOp::land, type), nullptr);
}

TEST(ReduceKernels, complex_numbers) {
  check_complex<float>(ElementType::complex64);
  check_complex<double>(ElementType::complex128);
}

// Products that do not fit: a fused multiply-add would give other bits.
TEST(ReduceKernels, complex_products_are_not_contracted) {
  const auto draw = [] { return std::ldexp(static_cast<double>(random_bits() >> 11), -53); };
  for (const VectorUnit unit : usable_units()) {
    const Kernel kernel = reduce_kernel(ReduceOp::prod, ElementType::complex128, unit);
    for (int i = 0; i < 1000; ++i) {
      const double a[2] = {draw(), draw()};
      const double b[2] = {draw(), draw()};
      volatile const double p = a[0] * b[0], q = a[1] * b[1], r = a[0] * b[1], s = a[1] * b[0];
      double got[2];
      kernel(got, a, b, 1);
      ASSERT_EQ(got[0], p - q);
      ASSERT_EQ(got[1], r + s);
    }
  }
}

TEST(ReduceKernels, logical_types) {
  using T = std::uint8_t;
  const std::function<T()> draw = [] { return static_cast<T>(random_bits() >> 9 & 1U); };
  check<T>(ReduceOp::land, ElementType::bool8, draw, [](T a, T b) { return static_cast<T>(a && b); });
  check<T>(ReduceOp::lor, ElementType::bool8, draw, [](T a, T b) { return static_cast<T>(a || b); });
  check<T>(ReduceOp::lxor, ElementType::bool8, draw, [](T a, T b) { return static_cast<T>(a != b); });
  EXPECT_EQ(reduce_kernel(ReduceOp::sum, ElementType::bool8), nullptr);
  EXPECT_EQ(reduce_kernel(ReduceOp::band, ElementType::bool8), nullptr);

  // .true. is 1 with some compilers and -1 with others; results stay in the compiler's own terms.
  for (const std::int32_t yes : {1, -1}) {
    using L = std::int32_t;
    const std::function<L()> draw_logical = [yes] { return (random_bits() >> 9 & 1U) != 0 ? yes : 0; };
    check<L>(ReduceOp::land, ElementType::logical32, draw_logical,
             [yes](L a, L b) { return a && b ? yes : 0; });
    check<L>(ReduceOp::lor, ElementType::logical32, draw_logical,
             [yes](L a, L b) { return a || b ? yes : 0; });
    check<L>(ReduceOp::lxor, ElementType::logical32, draw_logical,
             [yes](L a, L b) { return a != b ? yes : 0; });
  }
  EXPECT_EQ(reduce_kernel(ReduceOp::max, ElementType::logical32), nullptr);
}

TEST(ReduceKernels, bytes) {
  using T = std::uint8_t;
  check<T>(ReduceOp::band, ElementType::byte, draw_integer<T>,
           [](T a, T b) { return static_cast<T>(a & b); });
  check<T>(ReduceOp::bor, ElementType::byte, draw_integer<T>, [](T a, T b) { return static_cast<T>(a | b); });
  check<T>(ReduceOp::bxor, ElementType::byte, draw_integer<T>,
           [](T a, T b) { return static_cast<T>(a ^ b); });
  EXPECT_EQ(reduce_kernel(ReduceOp::sum, ElementType::byte), nullptr);
  EXPECT_EQ(reduce_kernel(ReduceOp::land, ElementType::byte), nullptr);
}

template <typename Value>
struct Place {
  Value value;
  std::int32_t index;
  bool operator==(const Place&) const = default;
};

template <typename Value>
void check_places(ElementType type) {
  using P = Place<Value>;
  // Few values: many ties, which go to the lower index.
  const std::function<P()> draw = [] {
    return P{static_cast<Value>(random_bits() % 4), static_cast<std::int32_t>(random_bits() % 100)};
  };
  const auto tie = [](P a, P b) { return P{a.value, a.index < b.index ? a.index : b.index}; };
  check<P>(ReduceOp::minloc, type, draw, [&](P a, P b) {
    return a.value == b.value ? tie(a, b) : a.value < b.value ? a : b;
  });
  check<P>(ReduceOp::maxloc, type, draw, [&](P a, P b) {
    return a.value == b.value ? tie(a, b) : a.value > b.value ? a : b;
  });
  EXPECT_EQ(reduce_kernel(ReduceOp::sum, type), nullptr);
}

TEST(ReduceKernels, places) {
  check_places<float>(ElementType::float_int);
  check_places<double>(ElementType::double_int);
  check_places<std::int32_t>(ElementType::int_int);
}

TEST(ReduceKernels, what_only_the_host_reduces) {
  for (int i = 0; i <= static_cast<int>(ReduceOp::host); ++i) {
    EXPECT_EQ(reduce_kernel(static_cast<ReduceOp>(i), ElementType::other), nullptr);
    EXPECT_EQ(reduce_kernel(static_cast<ReduceOp>(i), ElementType::derived), nullptr);
  }
  for (int i = 0; i <= static_cast<int>(ElementType::derived); ++i) {
    EXPECT_EQ(reduce_kernel(ReduceOp::host, static_cast<ElementType>(i)), nullptr);
  }
  EXPECT_EQ(element_bytes(ElementType::other), 0U);
}

}  // namespace
}  // namespace unisono
