// SPDX-License-Identifier: BSD-3-Clause
// Text from files, programs and the environment as it may stand on a terminal, and texts of bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unisono {

// Control characters, those that turn the direction of writing, and what is no UTF-8, are written as \x1b or
// \u202e. Ends of lines and tabs stay.
std::string shown(std::string_view text);
// The same without ends of lines: \n.
std::string shown_in_a_line(std::string_view text);
// At most so many bytes of the beginning, and no part of a character.
std::string_view cut(std::string_view text, std::size_t most);
// A text that is longer than that becomes its beginning with a number that tells it from others with the same
// one. The same on all ranks.
std::string bounded(std::string_view text, std::size_t most);

}  // namespace unisono
