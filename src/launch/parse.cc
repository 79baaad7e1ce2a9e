// SPDX-License-Identifier: BSD-3-Clause
#include "launch/parse.h"

#include <algorithm>

#include "base/files.h"
#include "launch/errors.h"

namespace unisono::launch {
namespace {

constexpr std::size_t most_section_bytes = std::size_t{1} << 20;

void require_possible(const Flavour& flavour, const Option& option, const std::string& word) {
  for (const Refused& refused : flavour.refused) {
    if (refused.name != option.name) continue;
    throw UsageError("unisono run cannot work with " + word.substr(0, word.find('=')) + " of " +
                     std::string(flavour.title) + ": " + std::string(refused.what_to_do) + ".");
  }
}

// Splits one section into the launcher's options and the program.
Section section_of(const Flavour& flavour, const Words& words) {
  Section section;
  std::size_t position = 0;
  for (const Option& option : options_of(flavour, words)) {
    require_possible(flavour, option, words[option.position]);
    if (!option.value.empty()) section.values[option.name] = option.value;
    position = std::min(option.position + 1 + option.followers, words.size());
  }
  if (position < words.size() && words[position] == "--") ++position;
  const auto marker = std::ranges::find_if(words, is_shim);
  if (marker != words.end()) position = static_cast<std::size_t>(marker - words.begin());
  const auto middle = words.begin() + static_cast<std::ptrdiff_t>(position);
  section.options.assign(words.begin(), middle);
  section.program.assign(middle, words.end());
  return section;
}

std::vector<Words> split(const Words& words) {
  std::vector<Words> parts(1);
  for (const std::string& word : words) {
    if (word == separator) {
      parts.emplace_back();
    } else {
      parts.back().push_back(word);
    }
  }
  return parts;
}

Words blank_separated(std::string_view line) {
  constexpr std::string_view blanks = " \t\v\f\r";
  Words words;
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

Words words_of_file(const std::string& file, const std::string& option) {
  const ReadFile read = read_file(file, most_section_bytes);
  if (!read.text) throw UsageError("the file of " + option + ", '" + file + "': it " + read.problem);
  Words words;
  std::string_view rest = *read.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const Words own = blank_separated(line.substr(0, line.find('#')));
    if (own.empty()) continue;
    if (line.find_first_of("\"'\\") != std::string_view::npos) {
      throw UsageError(file + ": launchers disagree on quotes and backslashes in this file: " +
                       joined(blank_separated(line)) +
                       "\nWrite its sections on the command line instead, separated by ':'.");
    }
    if (!words.empty()) words.emplace_back(separator);
    words.insert(words.end(), own.begin(), own.end());
  }
  if (words.empty()) throw UsageError("the file of " + option + ", '" + file + "', names no program.");
  return words;
}

// The command with `--app FILE`, `-configfile FILE` replaced by the sections that stand in FILE. To the
// launchers both say the same.
Words with_section_files(const Flavour& flavour, const Words& words) {
  for (const Option& option : options_of(flavour, words)) {
    if (!has_name(flavour.section_files, option.name)) continue;
    const std::string& word = words[option.position];
    Words rest(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(option.position));
    const std::size_t behind = std::min(option.position + 1 + option.followers, words.size());
    rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(behind), words.end());
    if (!section_of(flavour, rest).program.empty()) {
      throw UsageError(word + " and a program are both given; " + std::string(flavour.title) +
                       " would heed only one.");
    }
    const Words more = words_of_file(option.value, word);
    rest.insert(rest.end(), more.begin(), more.end());
    return rest;
  }
  return words;
}

}  // namespace

std::string mark_hint() {
  return "Write `" + std::string(shim_name) + "` before each program in the command to say where they are.";
}

std::vector<Section> sections_of(const Flavour& flavour, const Words& words) {
  std::vector<Section> sections;
  for (const Words& part : split(with_section_files(flavour, words))) {
    sections.push_back(section_of(flavour, part));
    if (!sections.back().program.empty()) continue;
    const std::string where = sections.size() > 1
                                  ? "section " + std::to_string(sections.size()) + " of the command"
                                  : "the command";
    throw UsageError("found no program in " + where + ": " + (part.empty() ? "(empty)" : joined(part)) +
                     "\n" + mark_hint());
  }
  return sections;
}

}  // namespace unisono::launch
