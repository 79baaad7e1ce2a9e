// SPDX-License-Identifier: BSD-3-Clause
// What is said, and kept, of a call whose two results differ (B9): all that is needed to see it again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.h"
#include "runtime/judging/verification.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

// The datatype of the result's elements as far as calls have one; bytes else.
host::TypeInfo element_of(host::Host& host, const Call& call);
// "allreduce:ring(segment=4096)"
std::string text_of(const Call& call, const tuning::Choice& choice);

// Of an algorithm of which nobody can tell.
std::string doubt_text(const Call& call, const tuning::Choice& choice);
// A report of a wrong one: this, inputs_text, closing_text.
std::string mismatch_text(const World& world, const Communicator& c, const Call& call,
                          const tuning::Choice& choice, const Verification& v, std::int64_t wrong,
                          std::uint64_t check);
std::string inputs_text(const std::string& files);
std::string closing_text(const World& world, const Communicator& c, const Call& call,
                         const tuning::Choice& choice);

// What a rank gave to a check, and both results.
struct CheckedData {
  Operation operation{};
  const std::vector<char>&input, &own, &hosts;
};
bool may_be_written(const World& world, const std::vector<char>& input);
// Says how the files of all ranks are called, or why there is none of this one; empty: none is wanted.
std::string write_input(const World& world, const Communicator& c, std::uint64_t check,
                        const CheckedData& data);

}  // namespace unisono::runtime
