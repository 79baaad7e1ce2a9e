// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operators of the fake host.
#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "fake_host/state.h"

namespace unisono::fake_host {

namespace {

template <typename Value, typename Index>
struct Pair {
  Value value;
  Index index;
};

template <typename T>
struct IsPair : std::false_type {};
template <typename Value, typename Index>
struct IsPair<Pair<Value, Index>> : std::true_type {};
template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <typename T>
bool apply_pair(ReduceOp op, const T& left, const T& right, T* out) {
  if (op != ReduceOp::minloc && op != ReduceOp::maxloc) return false;
  const bool is_left_first = op == ReduceOp::minloc ? left.value < right.value : right.value < left.value;
  if (left.value == right.value) {
    *out = {left.value, std::min(left.index, right.index)};
  } else {
    *out = is_left_first ? left : right;
  }
  return true;
}

template <typename T>
bool apply_bits(ReduceOp op, T left, T right, T* out) {
  switch (op) {
    case ReduceOp::land:
      *out = left && right;
      return true;
    case ReduceOp::lor:
      *out = left || right;
      return true;
    case ReduceOp::lxor:
      *out = !left != !right;
      return true;
    case ReduceOp::band:
      *out = static_cast<T>(left & right);
      return true;
    case ReduceOp::bor:
      *out = static_cast<T>(left | right);
      return true;
    case ReduceOp::bxor:
      *out = static_cast<T>(left ^ right);
      return true;
    default:
      return false;
  }
}

template <typename T>
bool apply_number(ReduceOp op, T left, T right, T* out) {
  // Sums of small integers wrap around, as those of unsigned ones do.
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (op) {
    case ReduceOp::sum:
      *out = static_cast<T>(static_cast<Wide>(left) + static_cast<Wide>(right));
      return true;
    case ReduceOp::prod:
      *out = static_cast<T>(static_cast<Wide>(left) * static_cast<Wide>(right));
      return true;
    default:
      break;
  }
  if constexpr (!IsComplex<T>::value) {
    if (op == ReduceOp::min) return *out = std::min(left, right), true;
    if (op == ReduceOp::max) return *out = std::max(left, right), true;
  }
  if constexpr (std::is_integral_v<T>) return apply_bits(op, left, right, out);
  return false;
}

template <typename T>
int reduce_all(ReduceOp op, const char* in, char* inout, std::size_t count, std::ptrdiff_t extent) {
  for (std::size_t i = 0; i < count; ++i) {
    T left, right, out;
    std::memcpy(&left, in + i * extent, sizeof(T));
    std::memcpy(&right, inout + i * extent, sizeof(T));
    bool is_defined = false;
    if constexpr (IsPair<T>::value) {
      is_defined = apply_pair(op, left, right, &out);
    } else {
      is_defined = apply_number(op, left, right, &out);
    }
    if (!is_defined) return error_argument;
    std::memcpy(inout + i * extent, &out, sizeof(T));
  }
  return host::success;
}

template <typename T>
TypeState plain(ElementType element) {
  return {{{0, sizeof(T)}}, sizeof(T), sizeof(T), element};
}

TypeState predefined_type(ElementType element) {
  switch (element) {
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::bool8:
    case ElementType::byte:
      return plain<std::int8_t>(element);
    case ElementType::int16:
    case ElementType::uint16:
      return plain<std::int16_t>(element);
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::logical32:
    case ElementType::float32:
      return plain<std::int32_t>(element);
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64:
    case ElementType::complex64:
      return plain<std::int64_t>(element);
    case ElementType::complex128:
      return plain<std::complex<double>>(element);
    case ElementType::float_int:
    case ElementType::int_int:
      return plain<Pair<int, int>>(element);
    case ElementType::double_int:
      return {{{0, 12}}, 12, 16, element};
    case ElementType::other:
      return plain<long double>(element);
    case ElementType::derived:
      break;
  }
  return {{}, 0, 0, element};
}

int reduce_predefined(ReduceOp op, ElementType element, const char* in, char* inout, std::size_t count,
                      std::ptrdiff_t extent) {
  switch (element) {
    case ElementType::int8:
      return reduce_all<std::int8_t>(op, in, inout, count, extent);
    case ElementType::bool8:
    case ElementType::byte:
    case ElementType::uint8:
      return reduce_all<std::uint8_t>(op, in, inout, count, extent);
    case ElementType::int16:
      return reduce_all<std::int16_t>(op, in, inout, count, extent);
    case ElementType::uint16:
      return reduce_all<std::uint16_t>(op, in, inout, count, extent);
    case ElementType::logical32:
    case ElementType::int32:
      return reduce_all<std::int32_t>(op, in, inout, count, extent);
    case ElementType::uint32:
      return reduce_all<std::uint32_t>(op, in, inout, count, extent);
    case ElementType::int64:
      return reduce_all<std::int64_t>(op, in, inout, count, extent);
    case ElementType::uint64:
      return reduce_all<std::uint64_t>(op, in, inout, count, extent);
    case ElementType::float32:
      return reduce_all<float>(op, in, inout, count, extent);
    case ElementType::float64:
      return reduce_all<double>(op, in, inout, count, extent);
    case ElementType::complex64:
      return reduce_all<std::complex<float>>(op, in, inout, count, extent);
    case ElementType::complex128:
      return reduce_all<std::complex<double>>(op, in, inout, count, extent);
    case ElementType::float_int:
      return reduce_all<Pair<float, int>>(op, in, inout, count, extent);
    case ElementType::double_int:
      return reduce_all<Pair<double, int>>(op, in, inout, count, extent);
    case ElementType::int_int:
      return reduce_all<Pair<int, int>>(op, in, inout, count, extent);
    case ElementType::other:
      return reduce_all<long double>(op, in, inout, count, extent);
    case ElementType::derived:
      break;
  }
  return error_argument;
}

const TypeState& type_at(const State& state, host::Datatype type) {
  return state.types.at(static_cast<std::uintptr_t>(type) - 1);
}

const OpState& op_at(const State& state, host::Op op) {
  return state.ops.at(static_cast<std::uintptr_t>(op) - 1);
}

}  // namespace

host::Datatype datatype(ElementType type) {
  return host::Datatype{static_cast<std::uintptr_t>(type) + 1};
}

host::Op op(ReduceOp which) {
  return host::Op{static_cast<std::uintptr_t>(which) + 1};
}

void add_predefined(State* state) {
  for (int i = 0; i < static_cast<int>(ElementType::derived); ++i) {
    state->types.push_back(predefined_type(static_cast<ElementType>(i)));
  }
  for (int i = 0; i < static_cast<int>(ReduceOp::host); ++i) {
    state->ops.push_back({static_cast<ReduceOp>(i), true, {}});
  }
}

host::Datatype FakeWorld::add_type(const std::vector<Segment>& segments, std::ptrdiff_t extent_bytes) {
  TypeState type;
  type.segments = segments;
  type.extent_bytes = extent_bytes;
  for (const Segment& segment : segments) type.size_bytes += segment.bytes;
  state_->types.push_back(type);
  return host::Datatype{state_->types.size()};
}

host::Datatype FakeWorld::gapped_int32() {
  return add_type({{0, 4}, {8, 4}}, 16);
}

host::Op FakeWorld::add_op(UserFunction function, bool is_commutative) {
  state_->ops.push_back({ReduceOp::host, is_commutative, std::move(function)});
  return host::Op{state_->ops.size()};
}

int FakeHost::type_info(host::Datatype type, host::TypeInfo* info) {
  const TypeState& known = type_at(*state_, type);
  *info = host::TypeInfo{};
  info->size_bytes = known.size_bytes;
  info->extent_bytes = known.extent_bytes;
  info->element = known.element;
  std::ptrdiff_t low = 0, high = 0;
  bool is_first = true;
  for (const Segment& segment : known.segments) {
    const std::ptrdiff_t end = segment.offset_bytes + static_cast<std::ptrdiff_t>(segment.bytes);
    low = is_first ? segment.offset_bytes : std::min(low, segment.offset_bytes);
    high = is_first ? end : std::max(high, end);
    is_first = false;
  }
  info->true_lower_bound_bytes = low;
  info->true_extent_bytes = static_cast<std::size_t>(high - low);
  info->is_contiguous = known.segments.size() == 1 && low == 0 &&
                        known.extent_bytes == static_cast<std::ptrdiff_t>(known.size_bytes);
  return host::success;
}

int FakeHost::pack(const void* data, std::size_t count, host::Datatype type, void* packed,
                   std::size_t packed_bytes) {
  const TypeState& known = type_at(*state_, type);
  if (packed_bytes != count * known.size_bytes) return error_argument;
  char* into = static_cast<char*>(packed);
  for (std::size_t i = 0; i < count; ++i) {
    const char* element =
        static_cast<const char*>(data) + static_cast<std::ptrdiff_t>(i) * known.extent_bytes;
    for (const Segment& segment : known.segments) {
      std::memcpy(into, element + segment.offset_bytes, segment.bytes);
      into += segment.bytes;
    }
  }
  return host::success;
}

int FakeHost::unpack(const void* packed, std::size_t packed_bytes, void* data, std::size_t count,
                     host::Datatype type) {
  const TypeState& known = type_at(*state_, type);
  if (packed_bytes != count * known.size_bytes) return error_argument;
  const char* from = static_cast<const char*>(packed);
  for (std::size_t i = 0; i < count; ++i) {
    char* element = static_cast<char*>(data) + static_cast<std::ptrdiff_t>(i) * known.extent_bytes;
    for (const Segment& segment : known.segments) {
      std::memcpy(element + segment.offset_bytes, from, segment.bytes);
      from += segment.bytes;
    }
  }
  return host::success;
}

ReduceOp FakeHost::reduce_op(host::Op op) {
  return op_at(*state_, op).which;
}

bool FakeHost::is_commutative(host::Op op) {
  return op_at(*state_, op).is_commutative;
}

bool FakeHost::is_defined(host::Op op, host::Datatype type) {
  host::TypeInfo info;
  return reduce_op(op) == ReduceOp::host ||
         (type_info(type, &info) == host::success && info.element != ElementType::derived);
}

int FakeHost::reduce_local(const void* in, void* inout, std::size_t count, host::Datatype type, host::Op op) {
  const OpState& known = op_at(*state_, op);
  if (known.function) {
    known.function(in, inout, count, type);
    return host::success;
  }
  const TypeState& layout = type_at(*state_, type);
  return reduce_predefined(known.which, layout.element, static_cast<const char*>(in),
                           static_cast<char*>(inout), count, layout.extent_bytes);
}

}  // namespace unisono::fake_host
