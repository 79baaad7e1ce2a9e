// SPDX-License-Identifier: BSD-3-Clause
#include "front/help.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "launch/run_options.h"

namespace unisono::front {
namespace {

constexpr std::size_t gap = 2, most_name = 28, least_text = 30, widest = 100;

using launch::option_word;
using launch::OwnOption;

using Entry = std::pair<std::string, std::string>;  // an option as it is given, and what it does

std::string upper(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return made;
}

std::string_view first_sentence(std::string_view text) {
  const std::size_t end = text.find(". ");
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

Entry entry(const OptionSpec& spec) {
  const bool has_words = spec.type.find('|') != std::string_view::npos;
  std::string name =
      option_word(spec) + " " + (has_words ? "[" + std::string(spec.type) + "]" : upper(spec.type));
  const std::string standard = spec.get(Options());
  return {name,
          std::string(first_sentence(spec.help)) + (standard.empty() ? "" : "  [default: " + standard + "]")};
}

Entry entry(const OwnOption& option) {
  const std::string letter = option.letter == 0 ? "" : std::string("-") + option.letter + ", ";
  const std::string value = option.value.empty() ? "" : " " + std::string(option.value);
  return {letter + "--" + std::string(option.name) + value, std::string(option.help)};
}

// The words in lines of at most so many columns, each but the first behind `indent` blanks.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (used > 0 && used + 1 + word.size() > columns) {
      lines += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

std::string table(const std::vector<Entry>& entries, std::size_t columns) {
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, std::min(entry.first.size(), most_name));
  const std::size_t indent = gap + width + gap;
  const std::size_t room = std::max(least_text, columns > indent ? columns - indent : 0);
  std::string lines;
  for (const auto& [name, text] : entries) {
    lines += std::string(gap, ' ') + name;
    lines +=
        name.size() <= width ? std::string(width + gap - name.size(), ' ') : "\n" + std::string(indent, ' ');
    lines += wrapped(text, room, indent) + "\n";
  }
  return lines;
}

}  // namespace

std::string run_help(int columns) {
  const auto width = std::min<std::size_t>(widest, static_cast<std::size_t>(std::max(columns, 40)));
  std::string text = "Usage: unisono run " + std::string(launch::run_usage()) + "\n\n";
  for (std::string_view rest = launch::run_description(); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    text += line.starts_with("  ") ? "  " + std::string(line) + "\n"
            : line.empty()         ? "\n"
                                   : wrapped(line, width - gap, gap).insert(0, gap, ' ') + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<Entry> entries;
  for (const std::string_view name : launch::everyday_options()) {
    const auto spec = std::ranges::find(option_list(), name, &OptionSpec::name);
    if (spec != option_list().end()) entries.push_back(entry(*spec));
  }
  for (const OwnOption& option : launch::own_options()) entries.push_back(entry(option));
  return text + "\nThe usual options:\n" + table(entries, width) +
         "\n`unisono options` lists all of them, with their environment variables.\n";
}

}  // namespace unisono::front
