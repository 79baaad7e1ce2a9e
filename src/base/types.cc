// SPDX-License-Identifier: BSD-3-Clause
#include "base/types.h"

#include <array>

namespace unisono {
namespace {

constexpr std::array<std::string_view, 13> op_names = {
    "sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor", "minloc", "maxloc", "host"};

constexpr std::array<std::string_view, 20> type_names = {
    "int8",   "uint8",     "int16",      "uint16",    "int32",      "uint32", "int64",
    "uint64", "float32",   "float64",    "complex64", "complex128", "bool8",  "logical32",
    "byte",   "float_int", "double_int", "int_int",   "other",      "derived"};

static_assert(op_names.size() == static_cast<std::size_t>(ReduceOp::host) + 1);
static_assert(type_names.size() == static_cast<std::size_t>(ElementType::derived) + 1);

}  // namespace

std::string_view name(ReduceOp op) {
  return op_names[static_cast<std::size_t>(op)];
}

std::string_view name(ElementType type) {
  return type_names[static_cast<std::size_t>(type)];
}

}  // namespace unisono
