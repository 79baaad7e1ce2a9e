// SPDX-License-Identifier: BSD-3-Clause
// What is said of a text that is no layout.
#pragma once

#include <string>
#include <string_view>

namespace unisono::patterns {

// Why Layout::parse() gives nothing for `text`, and what to write: a clause.
std::string why_no_layout(std::string_view text);

}  // namespace unisono::patterns
