// SPDX-License-Identifier: BSD-3-Clause
// What somebody may have meant who has mistyped a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unisono {

// The name that `word` comes nearest to; empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

// `; did you mean 'ring'?`, to follow the words that refuse `word`; empty where none of the names is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace unisono
