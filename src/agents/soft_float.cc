// SPDX-License-Identifier: BSD-3-Clause
#include "agents/soft_float.h"

#include <cfenv>
#include <cstdint>
#include <cstring>

#include "base/float_control.h"

#if UNISONO_HAS_SOFTFLOAT
extern "C" {
#include "softfloat.h"
}
#endif

namespace unisono::agents {

#if UNISONO_HAS_SOFTFLOAT
namespace {

struct Single {
  using Bits = std::uint32_t;
  static constexpr Bits sign = 0x80000000, infinity = 0x7F800000, quiet = 0x00400000;
  static Bits add(Bits a, Bits b) { return f32_add({a}, {b}).v; }
  static Bits multiply(Bits a, Bits b) { return f32_mul({a}, {b}).v; }
  static bool is_less(Bits a, Bits b) { return f32_lt_quiet({a}, {b}); }
};
struct Double {
  using Bits = std::uint64_t;
  static constexpr Bits sign = 0x8000000000000000, infinity = 0x7FF0000000000000, quiet = 0x0008000000000000;
  static Bits add(Bits a, Bits b) { return f64_add({a}, {b}).v; }
  static Bits multiply(Bits a, Bits b) { return f64_mul({a}, {b}).v; }
  static bool is_less(Bits a, Bits b) { return f64_lt_quiet({a}, {b}); }
};

// How the thread computes.
struct Rules {
  std::uint8_t rounding = softfloat_round_near_even;
  bool drops_tiny_operands = false, drops_tiny_results = false;
  bool has_plain_nan = false;  // every result that is no number is the same one
};

#if defined(__x86_64__)
Rules rules_of(const FloatControl& control) {
  constexpr std::uint8_t modes[] = {softfloat_round_near_even, softfloat_round_min, softfloat_round_max,
                                    softfloat_round_minMag};
  return {.rounding = modes[control.vector >> 13 & 3],
          .drops_tiny_operands = (control.vector >> 6 & 1) != 0,
          .drops_tiny_results = (control.vector >> 15 & 1) != 0};
}
#elif defined(__aarch64__)
Rules rules_of(const FloatControl& control) {
  constexpr std::uint8_t modes[] = {softfloat_round_near_even, softfloat_round_max, softfloat_round_min,
                                    softfloat_round_minMag};
  const bool drops_tiny = (control.fpcr >> 24 & 1) != 0;
  return {.rounding = modes[control.fpcr >> 22 & 3],
          .drops_tiny_operands = drops_tiny,
          .drops_tiny_results = drops_tiny,
          .has_plain_nan = (control.fpcr >> 25 & 1) != 0};
}
#else
Rules rules_of(const FloatControl& control) {
  Rules rules;
  if (control.rounding == FE_DOWNWARD) rules.rounding = softfloat_round_min;
  if (control.rounding == FE_UPWARD) rules.rounding = softfloat_round_max;
  if (control.rounding == FE_TOWARDZERO) rules.rounding = softfloat_round_minMag;
  return rules;
}
#endif

template <class F>
bool is_nan(typename F::Bits bits) {
  return (bits & ~F::sign) > F::infinity;
}
template <class F>
bool is_tiny(typename F::Bits bits) {
  return (bits & F::infinity) == 0;
}
template <class F>
typename F::Bits without_tiny(typename F::Bits bits, bool drops) {
  return drops && is_tiny<F>(bits) ? bits & F::sign : bits;
}

// What is no number comes out as the processor has it: of the left operand, else of the right one.
template <class F>
typename F::Bits quiet_of(typename F::Bits left, typename F::Bits right) {
#if defined(__aarch64__)
  const auto is_signalling = [](typename F::Bits bits) { return is_nan<F>(bits) && (bits & F::quiet) == 0; };
  if (is_signalling(left)) return left | F::quiet;
  if (is_signalling(right)) return right | F::quiet;
#endif
  return (is_nan<F>(left) ? left : right) | F::quiet;
}
template <class F>
constexpr typename F::Bits new_nan() {
#if defined(__x86_64__)
  return F::sign | F::infinity | F::quiet;
#else
  return F::infinity | F::quiet;
#endif
}

template <class F, bool is_product>
typename F::Bits arithmetic(const Rules& rules, typename F::Bits left, typename F::Bits right) {
  if (is_nan<F>(left) || is_nan<F>(right))
    return rules.has_plain_nan ? new_nan<F>() : quiet_of<F>(left, right);
  left = without_tiny<F>(left, rules.drops_tiny_operands);
  right = without_tiny<F>(right, rules.drops_tiny_operands);
  softfloat_exceptionFlags = 0;
  const auto result = is_product ? F::multiply(left, right) : F::add(left, right);
  if (is_nan<F>(result)) return new_nan<F>();
  const bool is_below = is_tiny<F>(result) || (softfloat_exceptionFlags & softfloat_flag_underflow) != 0;
  return is_below && rules.drops_tiny_results ? result & F::sign : result;
}

template <class F, bool is_least>
typename F::Bits selection(const Rules& rules, typename F::Bits left, typename F::Bits right) {
  const auto a = without_tiny<F>(left, rules.drops_tiny_operands);
  const auto b = without_tiny<F>(right, rules.drops_tiny_operands);
  return (is_least ? F::is_less(b, a) : F::is_less(a, b)) ? right : left;
}

template <class F, typename F::Bits (*apply)(const Rules&, typename F::Bits, typename F::Bits)>
void run(void* into, const void* left, const void* right, std::size_t count) {
  using Bits = typename F::Bits;
  const Rules rules = rules_of(FloatControl::of_this_thread());
  softfloat_roundingMode = rules.rounding;
  softfloat_detectTininess = softfloat_tininess_afterRounding;
  for (std::size_t i = 0; i < count; ++i) {
    Bits a, b;
    std::memcpy(&a, static_cast<const char*>(left) + i * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<const char*>(right) + i * sizeof b, sizeof b);
    a = apply(rules, a, b);
    std::memcpy(static_cast<char*>(into) + i * sizeof a, &a, sizeof a);
  }
}

template <class F>
Kernel kernel_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return run<F, arithmetic<F, false>>;
    case ReduceOp::prod:
      return run<F, arithmetic<F, true>>;
    case ReduceOp::min:
      return run<F, selection<F, true>>;
    case ReduceOp::max:
      return run<F, selection<F, false>>;
    default:
      return nullptr;
  }
}

}  // namespace

bool is_soft_float_there() {
  return true;
}

Kernel soft_kernel(ReduceOp op, ElementType element) {
  if (element == ElementType::float32) return kernel_of<Single>(op);
  return element == ElementType::float64 ? kernel_of<Double>(op) : nullptr;
}

#else

bool is_soft_float_there() {
  return false;
}

Kernel soft_kernel(ReduceOp, ElementType) {
  return nullptr;
}

#endif

}  // namespace unisono::agents
