// SPDX-License-Identifier: BSD-3-Clause
#include "base/reduce_kernels.h"

#include <cstring>
#include <type_traits>

namespace unisono {
namespace {

#define UNISONO_INLINE [[gnu::always_inline]] inline

// --- Operators. Integers are added and multiplied unsigned, where overflow is defined; the bits are the
// same. ---

template <typename T, bool is_integer = std::is_integral_v<T>>
struct Arithmetic {
  using Type = T;
};
template <typename T>
struct Arithmetic<T, true> {
  // Small types would be promoted to signed int.
  using Type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};

struct Sum {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    using A = typename Arithmetic<T>::Type;
    return static_cast<T>(static_cast<A>(left) + static_cast<A>(right));
  }
};
struct Product {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    using A = typename Arithmetic<T>::Type;
    return static_cast<T>(static_cast<A>(left) * static_cast<A>(right));
  }
};
struct Minimum {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return right < left ? right : left;
  }
};
struct Maximum {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return left < right ? right : left;
  }
};
struct LogicalAnd {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return static_cast<T>((left != 0) & (right != 0));
  }
};
struct LogicalOr {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return static_cast<T>((left != 0) | (right != 0));
  }
};
struct LogicalXor {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return static_cast<T>((left != 0) != (right != 0));
  }
};
struct BitAnd {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return static_cast<T>(left & right);
  }
};
struct BitOr {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return static_cast<T>(left | right);
  }
};
struct BitXor {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return static_cast<T>(left ^ right);
  }
};

// Fortran compilers differ in the number that stands for .true. (1, -1): an operand's own is kept.
struct FortranAnd {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return left != 0 ? right : 0;
  }
};
struct FortranOr {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return left != 0 ? left : right;
  }
};
struct FortranXor {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return left == 0 ? right : (right == 0 ? left : 0);
  }
};

// GCC's own complex type: infinities and NaNs come out as in the hosts, which use it too.
struct ComplexProduct {
  template <typename T>
  UNISONO_INLINE static T apply(T left, T right) {
    return left * right;
  }
};

template <typename Value>
struct Pair {
  Value value;
  std::int32_t index;
};
struct MinimumPlace {
  template <typename P>
  UNISONO_INLINE static P apply(P left, P right) {
    if (left.value == right.value) return left.index < right.index ? left : right;
    return right.value < left.value ? right : left;
  }
};
struct MaximumPlace {
  template <typename P>
  UNISONO_INLINE static P apply(P left, P right) {
    if (left.value == right.value) return left.index < right.index ? left : right;
    return left.value < right.value ? right : left;
  }
};

// --- Loops ---

template <typename T>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  T value;
};

// `per_element`: how many values of T make one element (complex sums are sums of two). The pragma ivdep is
// true although `into` may be an operand, since each element depends on its own place alone.
template <typename T, typename Op, std::size_t per_element>
UNISONO_INLINE void loop(void* into, const void* left, const void* right, std::size_t count) {
  auto* to = static_cast<Unaligned<T>*>(into);
  const auto* a = static_cast<const Unaligned<T>*>(left);
  const auto* b = static_cast<const Unaligned<T>*>(right);
  if (per_element == 1 && count == 1) {
    to[0].value = Op::template apply<T>(a[0].value, b[0].value);
    return;
  }
  const std::size_t values = count * per_element;
#pragma GCC ivdep
  for (std::size_t i = 0; i < values; ++i) to[i].value = Op::template apply<T>(a[i].value, b[i].value);
}

template <typename T, typename Op, std::size_t per_element>
void run_baseline(void* into, const void* left, const void* right, std::size_t count) {
  loop<T, Op, per_element>(into, left, right, count);
}
#if defined(__x86_64__)
template <typename T, typename Op, std::size_t per_element>
[[gnu::target("avx2")]] void run_avx2(void* into, const void* left, const void* right, std::size_t count) {
  loop<T, Op, per_element>(into, left, right, count);
}
template <typename T, typename Op, std::size_t per_element>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void run_avx512(
    void* into, const void* left, const void* right, std::size_t count) {
  loop<T, Op, per_element>(into, left, right, count);
}
#endif

template <typename T, typename Op, std::size_t per_element = 1>
Kernel choose([[maybe_unused]] VectorUnit unit) {
#if defined(__x86_64__)
  if (unit == VectorUnit::avx512) return run_avx512<T, Op, per_element>;
  if (unit == VectorUnit::avx2) return run_avx2<T, Op, per_element>;
#endif
  return run_baseline<T, Op, per_element>;
}

// --- Which operators a type has (MPI, "Predefined reduction operations") ---

template <typename T>
Kernel arithmetic_kernel(ReduceOp op, VectorUnit unit) {
  switch (op) {
    case ReduceOp::sum:
      return choose<T, Sum>(unit);
    case ReduceOp::prod:
      return choose<T, Product>(unit);
    case ReduceOp::min:
      return choose<T, Minimum>(unit);
    case ReduceOp::max:
      return choose<T, Maximum>(unit);
    default:
      return nullptr;
  }
}

template <typename T>
Kernel logical_kernel(ReduceOp op, VectorUnit unit) {
  switch (op) {
    case ReduceOp::land:
      return choose<T, LogicalAnd>(unit);
    case ReduceOp::lor:
      return choose<T, LogicalOr>(unit);
    case ReduceOp::lxor:
      return choose<T, LogicalXor>(unit);
    default:
      return nullptr;
  }
}

template <typename T>
Kernel bit_kernel(ReduceOp op, VectorUnit unit) {
  switch (op) {
    case ReduceOp::band:
      return choose<T, BitAnd>(unit);
    case ReduceOp::bor:
      return choose<T, BitOr>(unit);
    case ReduceOp::bxor:
      return choose<T, BitXor>(unit);
    default:
      return nullptr;
  }
}

// What does not depend on the sign is shared by both types of a width.
template <typename T>
Kernel integer_kernel(ReduceOp op, VectorUnit unit) {
  using Unsigned = std::make_unsigned_t<T>;
  if (op == ReduceOp::min || op == ReduceOp::max) return arithmetic_kernel<T>(op, unit);
  if (op == ReduceOp::sum || op == ReduceOp::prod) return arithmetic_kernel<Unsigned>(op, unit);
  if (const Kernel kernel = logical_kernel<Unsigned>(op, unit); kernel != nullptr) return kernel;
  return bit_kernel<Unsigned>(op, unit);
}

template <typename T, typename Complex>
Kernel complex_kernel(ReduceOp op, VectorUnit unit) {
  if (op == ReduceOp::sum) return choose<T, Sum, 2>(unit);
  // On the baseline only: for vector units GCC 12 fuses the multiplications whatever -ffp-contract says.
  return op == ReduceOp::prod ? choose<Complex, ComplexProduct>(VectorUnit::baseline) : nullptr;
}

Kernel fortran_logical_kernel(ReduceOp op, VectorUnit unit) {
  switch (op) {
    case ReduceOp::land:
      return choose<std::int32_t, FortranAnd>(unit);
    case ReduceOp::lor:
      return choose<std::int32_t, FortranOr>(unit);
    case ReduceOp::lxor:
      return choose<std::int32_t, FortranXor>(unit);
    default:
      return nullptr;
  }
}

template <typename Value>
Kernel place_kernel(ReduceOp op, VectorUnit unit) {
  if (op == ReduceOp::minloc) return choose<Pair<Value>, MinimumPlace>(unit);
  return op == ReduceOp::maxloc ? choose<Pair<Value>, MaximumPlace>(unit) : nullptr;
}

VectorUnit best_vector_unit() {
  if (is_usable(VectorUnit::avx512)) return VectorUnit::avx512;
  return is_usable(VectorUnit::avx2) ? VectorUnit::avx2 : VectorUnit::baseline;
}

}  // namespace

bool is_usable(VectorUnit unit) {
  if (unit == VectorUnit::baseline) return true;
#if defined(__x86_64__)
  if (unit == VectorUnit::avx2) return __builtin_cpu_supports("avx2") != 0;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

Kernel reduce_kernel(ReduceOp op, ElementType type) {
  static const VectorUnit best = best_vector_unit();
  return reduce_kernel(op, type, best);
}

Kernel reduce_kernel(ReduceOp op, ElementType type, VectorUnit unit) {
  switch (type) {
    case ElementType::int8:
      return integer_kernel<std::int8_t>(op, unit);
    case ElementType::uint8:
      return integer_kernel<std::uint8_t>(op, unit);
    case ElementType::int16:
      return integer_kernel<std::int16_t>(op, unit);
    case ElementType::uint16:
      return integer_kernel<std::uint16_t>(op, unit);
    case ElementType::int32:
      return integer_kernel<std::int32_t>(op, unit);
    case ElementType::uint32:
      return integer_kernel<std::uint32_t>(op, unit);
    case ElementType::int64:
      return integer_kernel<std::int64_t>(op, unit);
    case ElementType::uint64:
      return integer_kernel<std::uint64_t>(op, unit);
    case ElementType::float32:
      return arithmetic_kernel<float>(op, unit);
    case ElementType::float64:
      return arithmetic_kernel<double>(op, unit);
    case ElementType::complex64:
      return complex_kernel<float, __complex__ float>(op, unit);
    case ElementType::complex128:
      return complex_kernel<double, __complex__ double>(op, unit);
    case ElementType::bool8:
      return logical_kernel<std::uint8_t>(op, unit);
    case ElementType::logical32:
      return fortran_logical_kernel(op, unit);
    case ElementType::byte:
      return bit_kernel<std::uint8_t>(op, unit);
    case ElementType::float_int:
      return place_kernel<float>(op, unit);
    case ElementType::double_int:
      return place_kernel<double>(op, unit);
    case ElementType::int_int:
      return place_kernel<std::int32_t>(op, unit);
    case ElementType::other:
    case ElementType::derived:
      return nullptr;
  }
  return nullptr;
}

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::bool8:
    case ElementType::byte:
      return 1;
    case ElementType::int16:
    case ElementType::uint16:
      return 2;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32:
    case ElementType::logical32:
      return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64:
    case ElementType::complex64:
      return 8;
    case ElementType::complex128:
      return 16;
    case ElementType::float_int:
      return sizeof(Pair<float>);
    case ElementType::double_int:
      return sizeof(Pair<double>);
    case ElementType::int_int:
      return sizeof(Pair<std::int32_t>);
    case ElementType::other:
    case ElementType::derived:
      return 0;
  }
  return 0;
}

}  // namespace unisono
