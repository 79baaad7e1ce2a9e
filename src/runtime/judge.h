// SPDX-License-Identifier: BSD-3-Clause
// Two results of one call, Unisono's and the host's: may both be right (B9)?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace unisono::runtime {

enum class Judgement : std::uint8_t {
  exact,    // there is one right result: data that only moves, integers, bits
  bounded,  // floating point: what another order of the operands may change is known
  unknown   // operators of the program, types without a known arithmetic: nobody can tell
};
Judgement judgement_of(Operation operation, ReduceOp op, ElementType element);

// Judgement::bounded: can `one` and `other` both be what the operands give, joined in some order? Elements
// are packed as MPI packs them. For sums of n operands |one - other| <= 2 g sum |x|, g = (n - 1) u / (1 - (n
// - 1) u) and u half a unit in the last place (Higham, section 4.2); for products the same of the product,
// for complex ones four times as much. Where an order may overflow or underflow, and with NaN, all results
// pass.
bool may_both_be(ReduceOp op, ElementType element, const char* one, const char* other,
                 const std::vector<const char*>& operands);

// A packed element for people: "1.5", "(1, -2)", or bytes "0x3f80...".
std::string value_text(ElementType element, const char* data, std::size_t bytes);

}  // namespace unisono::runtime
