// SPDX-License-Identifier: BSD-3-Clause
#include "base/operations.h"

#include <algorithm>

namespace unisono {
namespace {

constexpr bool is_in_order() {
  for (int i = 0; i < operation_count; ++i)
    if (operation_table[static_cast<std::size_t>(i)].operation != static_cast<Operation>(i)) return false;
  return true;
}
static_assert(is_in_order(), "an operation's traits are found by its number");

}  // namespace

std::optional<Operation> operation_from_name(std::string_view name) {
  const auto* found = std::ranges::find(operation_table, name, &OperationTraits::name);
  if (found == operation_table.end()) return std::nullopt;
  return found->operation;
}

}  // namespace unisono
