// SPDX-License-Identifier: BSD-3-Clause
// Parts of layouts as texts, and what is said of a text that is none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "patterns/layout.h"

namespace unisono::patterns {

// Why Layout::parse() gives nothing for `text`, and what to write: a clause.
std::string why_no_layout(std::string_view text);

// One node by its domains: "2x4" is 2 domains of 4 ranks, "3+5", "2x4/interleaved".
std::optional<Layout> parse_node(std::string_view text);
std::string why_no_node(std::string_view text);

}  // namespace unisono::patterns
