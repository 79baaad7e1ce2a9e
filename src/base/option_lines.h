// SPDX-License-Identifier: BSD-3-Clause
// Lines `name = value` of options' files, and values as they stand there: any text can, in quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unisono {

struct OptionLine {
  int number;  // from 1
  std::string name;
  std::string value;
  std::string problem;  // why it is no such line; empty where it is one
};

// What follows a # is a comment, where that begins the line or stands after a blank: inside a file's name it
// is part of it. A value in double quotes ends with the second of them; \" \\ and \n stand for themselves and
// the end of a line there.
std::vector<OptionLine> option_lines(std::string_view text);

// The value as a line holds it: in quotes where it would be read as something else without.
std::string option_value_text(std::string_view value);

// Without blanks at both ends, whatever the program's locale takes for blanks.
std::string_view without_blanks(std::string_view text);

}  // namespace unisono
