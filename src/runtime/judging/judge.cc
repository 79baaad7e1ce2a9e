// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/judging/judge.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>

namespace unisono::runtime {
namespace {

bool is_floating(ElementType element) {
  return element == ElementType::float32 || element == ElementType::float64;
}
bool is_complex(ElementType element) {
  return element == ElementType::complex64 || element == ElementType::complex128;
}
bool is_place(ElementType element) {
  return element == ElementType::float_int || element == ElementType::double_int;
}

bool is_single(ElementType element) {
  return element == ElementType::float32 || element == ElementType::complex64 ||
         element == ElementType::float_int;
}

template <typename T>
T read(const char* data, std::size_t index = 0) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof value);
  return value;
}

using Operands = std::vector<const char*>;

// What n - 1 roundings change at most, as a factor; `each` units of rounding in an operation.
template <typename Real>
long double rounding(std::size_t operands, long double each) {
  const long double part =
      static_cast<long double>(operands - 1) * each * std::numeric_limits<Real>::epsilon() / 2;
  return part < 1 ? part / (1 - part) : std::numeric_limits<long double>::infinity();
}

template <typename Real>
bool sums_agree(const char* one, const char* other, long double total, std::size_t operands,
                std::size_t component) {
  // In some order a partial sum overflows; or there is a NaN.
  if (!(total <= std::numeric_limits<Real>::max())) return true;
  const long double difference = static_cast<long double>(read<Real>(one, component)) -
                                 static_cast<long double>(read<Real>(other, component));
  return std::fabs(difference) <= 2 * rounding<Real>(operands, 1) * total;
}

template <typename Real>
bool sums_agree(const char* one, const char* other, const Operands& operands, std::size_t component) {
  long double total = 0;
  for (const char* operand : operands) total += std::fabs(read<Real>(operand, component));
  return sums_agree<Real>(one, other, total, operands.size(), component);
}

// Magnitudes of all operands; of one that is zero none.
struct Product {
  long double magnitude = 1;
  long double up = 0, down = 0;  // powers of two that operands above, and below, one bring along
  bool has_zero = false, is_finite = true;

  void take(long double operand) {
    is_finite = is_finite && std::isfinite(operand);
    has_zero = has_zero || operand == 0;
    if (operand == 0 || !std::isfinite(operand)) return;
    magnitude *= operand;
    const long double power = std::log2(operand);
    (power > 0 ? up : down) += power;
  }
  template <typename Real>
  bool may_leave_range() const {
    return up >= std::numeric_limits<Real>::max_exponent - 2 ||
           down <= std::numeric_limits<Real>::min_exponent + 2;
  }
};

template <typename Real>
bool products_agree(const char* one, const char* other, const Operands& operands) {
  Product product;
  for (const char* operand : operands) product.take(std::fabs(read<Real>(operand)));
  if (!product.is_finite || product.may_leave_range<Real>()) return true;
  const auto a = static_cast<long double>(read<Real>(one));
  const auto b = static_cast<long double>(read<Real>(other));
  if (product.has_zero) return a == b;
  return std::fabs(a - b) <= 2 * rounding<Real>(operands.size(), 1) * product.magnitude;
}

template <typename Real>
bool complex_products_agree(const char* one, const char* other, const Operands& operands) {
  const auto number = [](const char* data) {
    return std::complex<long double>(read<Real>(data, 0), read<Real>(data, 1));
  };
  Product product;
  for (const char* operand : operands) product.take(std::abs(number(operand)));
  if (!product.is_finite || product.may_leave_range<Real>()) return true;
  if (product.has_zero) return number(one) == number(other);
  constexpr long double each = 4;
  return std::abs(number(one) - number(other)) <=
         2 * rounding<Real>(operands.size(), each) * product.magnitude;
}

template <typename Real>
bool extremes_agree(const char* one, const char* other, bool has_place) {
  if (read<Real>(one) != read<Real>(other)) return false;
  return !has_place || std::memcmp(one + sizeof(Real), other + sizeof(Real), sizeof(std::int32_t)) == 0;
}

template <typename Real>
bool agree(ReduceOp op, ElementType element, const char* one, const char* other, const Operands& operands) {
  if (op == ReduceOp::sum) {
    return sums_agree<Real>(one, other, operands, 0) &&
           (!is_complex(element) || sums_agree<Real>(one, other, operands, 1));
  }
  if (op != ReduceOp::prod) {
    const auto is_nan = [](const char* data) { return std::isnan(read<Real>(data)); };
    return std::ranges::any_of(operands, is_nan) || extremes_agree<Real>(one, other, is_place(element));
  }
  return is_complex(element) ? complex_products_agree<Real>(one, other, operands)
                             : products_agree<Real>(one, other, operands);
}

template <typename Real>
void write(char* data, std::size_t index, long double value) {
  const auto narrow = static_cast<Real>(value);
  std::memcpy(data + index * sizeof narrow, &narrow, sizeof narrow);
}

template <typename Real>
void make_weight(ReduceOp op, ElementType element, char* data) {
  const long double first = read<Real>(data);
  if (op == ReduceOp::sum) {
    write<Real>(data, 0, std::fabs(first));
    if (is_complex(element)) write<Real>(data, 1, std::fabs(read<Real>(data, 1)));
  } else if (op == ReduceOp::prod) {
    const long double magnitude =
        is_complex(element) ? std::hypot(first, static_cast<long double>(read<Real>(data, 1))) : first;
    write<Real>(data, 0, magnitude == 0 ? 0 : std::fabs(std::log2(std::fabs(magnitude))));
    if (is_complex(element)) write<Real>(data, 1, 0);
  } else {
    write<Real>(data, 0, std::isnan(first) ? 1 : 0);
    if (is_place(element)) std::memset(data + sizeof(Real), 0, sizeof(std::int32_t));
  }
}

template <typename Real>
bool agree(ReduceOp op, ElementType element, const char* one, const char* other, const char* weight,
           std::size_t operands) {
  const auto weighs = [&](std::size_t component) {
    // The weights were rounded as operands are.
    return read<Real>(weight, component) * (1 + rounding<Real>(operands, 1));
  };
  if (op == ReduceOp::sum) {
    return sums_agree<Real>(one, other, weighs(0), operands, 0) &&
           (!is_complex(element) || sums_agree<Real>(one, other, weighs(1), operands, 1));
  }
  if (op != ReduceOp::prod) return weighs(0) != 0 || extremes_agree<Real>(one, other, is_place(element));
  constexpr int margin = 4;
  if (!(weighs(0) < -std::numeric_limits<Real>::min_exponent - margin)) return true;
  const auto number = [&](const char* data) {
    return std::complex<long double>(read<Real>(data, 0), is_complex(element) ? read<Real>(data, 1) : 0);
  };
  const long double share = rounding<Real>(operands, is_complex(element) ? 4 : 1);
  const long double most = std::max(std::abs(number(one)), std::abs(number(other)));
  return std::abs(number(one) - number(other)) <= 2 * share * (1 + share) * most;
}

template <typename T>
std::string number_text(const char* data) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    std::snprintf(text, sizeof text, "%.*g", std::numeric_limits<T>::max_digits10,
                  static_cast<double>(read<T>(data)));
    return text;
  } else {
    return std::to_string(read<T>(data));
  }
}

template <typename Real>
std::string pair_text(const char* data) {
  std::string text(1, '(');
  text += number_text<Real>(data);
  text += ", ";
  text += number_text<Real>(data + sizeof(Real));
  text += ')';
  return text;
}

}  // namespace

Judgement judgement_of(Operation operation, ReduceOp op, ElementType element) {
  if (!is_reduction(operation)) return Judgement::exact;
  if (op == ReduceOp::host || element == ElementType::other || element == ElementType::derived)
    return Judgement::unknown;
  const bool is_rounded = is_floating(element) || is_complex(element) || is_place(element);
  return is_rounded ? Judgement::bounded : Judgement::exact;
}

bool may_both_be(ReduceOp op, ElementType element, const char* one, const char* other,
                 const Operands& operands) {
  return is_single(element) ? agree<float>(op, element, one, other, operands)
                            : agree<double>(op, element, one, other, operands);
}

ReduceOp weight_op(ReduceOp op, ElementType element) {
  if (op == ReduceOp::sum || op == ReduceOp::prod) return ReduceOp::sum;
  return is_place(element) ? ReduceOp::maxloc : ReduceOp::max;
}

void make_weights(ReduceOp op, ElementType element, char* data, std::size_t elements,
                  std::size_t element_bytes) {
  for (std::size_t i = 0; i < elements; ++i) {
    char* one = data + i * element_bytes;
    is_single(element) ? make_weight<float>(op, element, one) : make_weight<double>(op, element, one);
  }
}

bool may_both_be(ReduceOp op, ElementType element, const char* one, const char* other, const char* weight,
                 std::size_t operands) {
  return is_single(element) ? agree<float>(op, element, one, other, weight, operands)
                            : agree<double>(op, element, one, other, weight, operands);
}

std::string value_text(ElementType element, const char* data, std::size_t bytes) {
  switch (element) {
    case ElementType::int8:
      return number_text<std::int8_t>(data);
    case ElementType::uint8:
      return number_text<std::uint8_t>(data);
    case ElementType::int16:
      return number_text<std::int16_t>(data);
    case ElementType::uint16:
      return number_text<std::uint16_t>(data);
    case ElementType::int32:
      return number_text<std::int32_t>(data);
    case ElementType::uint32:
      return number_text<std::uint32_t>(data);
    case ElementType::int64:
      return number_text<std::int64_t>(data);
    case ElementType::uint64:
      return number_text<std::uint64_t>(data);
    case ElementType::float32:
      return number_text<float>(data);
    case ElementType::float64:
      return number_text<double>(data);
    case ElementType::complex64:
      return pair_text<float>(data);
    case ElementType::complex128:
      return pair_text<double>(data);
    default:
      break;
  }
  std::string text = "0x";
  constexpr std::size_t most_bytes = 32;
  for (std::size_t i = 0; i < std::min(bytes, most_bytes); ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(data[i]));
    text += byte;
  }
  return bytes > most_bytes ? text + "..." : text;
}

}  // namespace unisono::runtime
