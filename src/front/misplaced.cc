// SPDX-License-Identifier: BSD-3-Clause
#include "front/misplaced.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "front/run_line.h"
#include "launch/errors.h"
#include "launch/launcher_options.h"

namespace unisono::front {
namespace {

using launch::Words;

// One of ours among the options of a section, with the words that are its value.
struct Misplaced {
  RunOption option;
  std::string word;  // as it was typed
  std::size_t position = 0, words = 0;
  std::string value;
};

// A program behind an option whose value was forgotten is no value.
bool is_value(const Words& section, std::size_t position) {
  if (position >= section.size()) return false;
  const std::string& word = section[position];
  const bool is_program = word.find('/') != std::string::npos && launch::is_executable(word);
  return !word.starts_with('-') && !is_program && position + 1 < section.size();
}

std::optional<Misplaced> next_one(const launch::Flavour& flavour, const Words& section) {
  for (const launch::Option& found : launch::options_of(flavour, section)) {
    const std::string& word = section[found.position];
    const std::optional<RunOption> option = run_option(word);
    if (!option || flavour.arity(found.name)) continue;
    Misplaced misplaced{*option, word, found.position, 1, option->value};
    if (!option->wants_next) return misplaced;
    const bool is_there = is_value(section, found.position + 1);
    misplaced.words += is_there ? 1 : 0;
    misplaced.value = is_there ? section[found.position + 1] : "VALUE";
    return misplaced;
  }
  return std::nullopt;
}

// Takes them out of a section.
std::vector<Misplaced> taken_from(const launch::Flavour& flavour, Words* section) {
  std::vector<Misplaced> all;
  while (std::optional<Misplaced> one = next_one(flavour, *section)) {
    const auto first = section->begin() + static_cast<std::ptrdiff_t>(one->position);
    section->erase(first, first + static_cast<std::ptrdiff_t>(one->words));
    all.push_back(std::move(*one));
  }
  return all;
}

// `unisono profile --`, which runs the program without Unisono if not told otherwise, with Unisono.
std::string with_unisono(const std::string& lead) {
  constexpr std::string_view end = " --", wanted = " --with-unisono";
  if (!lead.ends_with(end) || lead.find(wanted) != std::string::npos) return lead;
  return lead.substr(0, lead.size() - end.size()) + std::string(wanted) + std::string(end);
}

// A profile goes by the nodes without Unisono too.
bool needs_unisono(const Misplaced& one) {
  return one.option.variable != "UNISONO_NODES";
}

// What is to be typed before the command; empty where nothing there says it.
std::string lead_with(const Lead& lead, const std::vector<Misplaced>& all) {
  Words words;
  for (const Misplaced& one : all) {
    if (!lead.takes_options) {
      if (one.option.variable.empty()) return {};
      words.push_back(one.option.variable + "=" + one.value);
      continue;
    }
    words.push_back(one.word);
    if (one.option.wants_next) words.push_back(one.value);
  }
  const std::string quoted = launch::quoted(words);
  return lead.takes_options
             ? lead.text + " " + quoted
             : quoted + " " + (std::ranges::any_of(all, needs_unisono) ? with_unisono(lead.text) : lead.text);
}

}  // namespace

void require_no_own_option(const Lead& lead, const Words& command, const launch::FoundLauncher& launcher) {
  const launch::Flavour& flavour = *launcher.launcher.flavour;
  const bool is_marked = std::ranges::any_of(command, launch::is_shim);
  if (is_marked || &flavour == &launch::unknown_flavour()) return;
  auto rest = command.begin() + static_cast<std::ptrdiff_t>(launcher.position) + 1;
  Words meant(command.begin(), rest);
  std::vector<Misplaced> all;
  while (rest != command.end()) {
    const auto end = std::find(rest, command.end(), launch::separator);
    Words section(rest, end);
    const std::vector<Misplaced> taken = taken_from(flavour, &section);
    all.insert(all.end(), taken.begin(), taken.end());
    meant.insert(meant.end(), section.begin(), section.end());
    rest = end;
    if (rest != command.end()) meant.push_back(*rest++);
  }
  if (all.empty()) return;
  const std::string word = all[0].word.substr(0, all[0].word.find('='));
  const std::string instead = lead_with(lead, all);
  if (instead.empty())
    throw launch::UsageError(word + " is an option of `unisono run`, not of the launcher.");
  throw launch::UsageError(word + " is an option of Unisono's, which the launcher does not know. Write\n  " +
                           instead + " " + launch::quoted(meant));
}

}  // namespace unisono::front
