// SPDX-License-Identifier: BSD-3-Clause
#include "base/option_lines.h"

#include <optional>

namespace unisono {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::size_t comment_begin(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || is_blank(line[i - 1]))) return i;
  return line.size();
}

struct Quoted {
  std::string value, problem;
};

// `text` begins with a quote.
Quoted from_quotes(std::string_view text) {
  Quoted quoted;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] != '\\') {
      quoted.value += text[i];
      continue;
    }
    const char meant = ++i < text.size() ? text[i] : '\0';
    if (meant != '"' && meant != '\\' && meant != 'n') {
      return {{}, R"(in quotes \ stands before another one, before " or n alone)"};
    }
    quoted.value += meant == 'n' ? '\n' : meant;
  }
  if (i >= text.size()) return {{}, "the quotes of its value have no end"};
  const std::string_view rest = without_blanks(text.substr(i + 1));
  if (!rest.empty() && rest.front() != '#') return {{}, "something stands behind the quotes of its value"};
  return quoted;
}

// Nothing for a line without contents.
std::optional<OptionLine> option_line(std::string_view line, int number) {
  const std::string_view contents = line.substr(0, comment_begin(line));
  const std::size_t equals = contents.find('=');
  if (equals == std::string_view::npos) {
    if (without_blanks(contents).empty()) return {};
    return OptionLine{number, {}, {}, "it is not of the form 'key = value'"};
  }
  const std::string name(without_blanks(line.substr(0, equals)));
  const std::string_view behind = without_blanks(line.substr(equals + 1));
  if (behind.empty() || behind.front() != '"')
    return OptionLine{number, name, std::string(without_blanks(contents.substr(equals + 1))), {}};
  Quoted quoted = from_quotes(behind);
  return OptionLine{number, name, std::move(quoted.value), std::move(quoted.problem)};
}

}  // namespace

std::vector<OptionLine> option_lines(std::string_view text) {
  std::vector<OptionLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (auto line = option_line(text.substr(0, end), number)) lines.push_back(std::move(*line));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::string option_value_text(std::string_view value) {
  const bool is_plain = without_blanks(value) == value && value.substr(0, 1) != "\"" &&
                        value.find_first_of("#\n") == std::string_view::npos;
  if (is_plain) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n') text += '\\';
    text += c == '\n' ? 'n' : c;
  }
  return text + '"';
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace unisono
