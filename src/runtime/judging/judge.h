// SPDX-License-Identifier: BSD-3-Clause
// Two results of one call, Unisono's and the host's: may both be right (B9)?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace unisono::runtime {

enum class Judgement : std::uint8_t {
  exact,    // There is one right result: data that only moves, integers, bits.
  bounded,  // Floating point: what another order of the operands may change is known.
  unknown   // Operators of the program, types without a known arithmetic: nobody can tell.
};
Judgement judgement_of(Operation operation, ReduceOp op, ElementType element);

// Judgement::bounded: can `one` and `other` both be what the operands give, joined in some order? Elements
// are packed as MPI packs them. For sums of n operands |one - other| <= 2 g sum |x|, g = (n - 1) u / (1 - (n
// - 1) u) and u half a unit in the last place (Higham, section 4.2); for products the same of the product,
// for complex ones four times as much. Where an order may overflow or underflow, and with NaN, all results
// pass.
bool may_both_be(ReduceOp op, ElementType element, const char* one, const char* other,
                 const std::vector<const char*>& operands);

// The same where operands of other ranks are not at hand (calls that do not block). Each rank makes a weight
// of each of its operands. The host joins the weights as it joins operands, by weight_op, and the result
// judges. It passes a little more: of a product that a zero or another order may have let leave the range.
ReduceOp weight_op(ReduceOp op, ElementType element);
// Packed elements become their weights: of sums magnitudes, of products powers of two, of extremes whether it
// is NaN.
void make_weights(ReduceOp op, ElementType element, char* data, std::size_t elements,
                  std::size_t element_bytes);
bool may_both_be(ReduceOp op, ElementType element, const char* one, const char* other, const char* weight,
                 std::size_t operands);

// A packed element for people: "1.5", "(1, -2)", or bytes "0x3f80...".
std::string value_text(ElementType element, const char* data, std::size_t bytes);

}  // namespace unisono::runtime
