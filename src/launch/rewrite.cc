// SPDX-License-Identifier: BSD-3-Clause
#include "launch/rewrite.h"

#include <algorithm>

#include "launch/errors.h"
#include "launch/parse.h"

namespace unisono::launch {
namespace {

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// What stands in the place of the user's own mark.
Words for_marker(const Shim& shim, std::span<const std::string> following) {
  if (following.empty() || (following.size() == 1 && following[0] == "--"))
    throw UsageError("no program follows " + std::string(shim_name) + " in the command.");
  Words words = shim.words();
  if (!following[0].starts_with('-')) words.emplace_back("--");
  return words;
}

// The shim and the program. Where the user wrote the shim already, its own settings are kept, last.
Words before_program(const Shim& shim, const Words& program) {
  const bool is_marked = is_shim(program[0]);
  const std::span<const std::string> rest(program.begin() + (is_marked ? 1 : 0), program.end());
  Words words = is_marked ? for_marker(shim, rest) : shim.words();
  if (!is_marked) words.emplace_back("--");
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

Words at_markers(const Words& command, const Shim& shim) {
  Words words;
  for (std::size_t i = 0; i < command.size(); ++i) {
    append(words,
           is_shim(command[i]) ? for_marker(shim, std::span(command).subspan(i + 1)) : Words{command[i]});
  }
  return words;
}

// The program's name behind the user's own mark.
std::string own_name(const Words& program) {
  return is_shim(program[0]) && program.size() > 1 ? program[1] : program[0];
}

std::string working_directory(const Flavour& flavour, const Section& section) {
  for (std::string_view rest = flavour.directory_options; !rest.empty();) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    const auto given = section.values.find(std::string(rest.substr(0, blank)));
    if (given != section.values.end()) return given->second;
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  return ".";
}

// The program's command, named such that the shim finds it where the launcher would have: in the launcher's
// own search path, or in the working directory.
Words as_found(const Flavour& flavour, const Section& section) {
  Words program = section.program;
  const std::string name = program[0];
  if (name.find('/') != std::string::npos || is_shim(name)) return program;
  const auto searched = section.values.find(std::string(flavour.path_option));
  if (searched != section.values.end()) {
    const std::string found = find_program(name, searched->second.c_str());
    if (!found.empty()) {
      program[0] = absolute(found);
      return program;
    }
  }
  if (flavour.looks_in_directory && find_program(name).empty() &&
      is_executable(working_directory(flavour, section) + "/" + name))
    program[0] = "./" + name;
  return program;
}

Understood with_launcher(const Words& command, const FoundLauncher& found, const Shim& shim) {
  Understood made;
  made.launcher = found.launcher;
  made.position = found.position;
  const Flavour& flavour = *made.launcher->flavour;
  const auto behind = command.begin() + static_cast<std::ptrdiff_t>(found.position) + 1;
  made.words.assign(command.begin(), behind);
  Words names;
  for (const Section& section : sections_of(flavour, Words(behind, command.end()))) {
    if (!names.empty()) made.words.emplace_back(separator);
    const Words program = as_found(flavour, section);
    append(made.words, section.options);
    append(made.words, before_program(shim, program));
    names.push_back(own_name(section.program));
    made.programs.push_back(own_name(program));
  }
  made.explanation = "launcher " + made.launcher->path + " (" + made.launcher->title() +
                     "); programs: " + joined(names, ", ");
  return made;
}

}  // namespace

Words Shim::words() const {
  Words made{path};
  for (const auto& [name, value] : settings) append(made, {"--set", name + "=" + value});
  append(made, {"--library", library});
  if (!adapters.empty()) append(made, {"--adapters", joined(adapters, ",")});
  return made;
}

std::optional<FoundLauncher> launcher_of(const Words& command, const std::string& cache) {
  const std::optional<std::size_t> position = launcher_position(command);
  if (!position) return std::nullopt;
  return FoundLauncher{identify(command[*position], cache), *position};
}

Understood rewrite(const Words& command, const Shim& shim, const std::optional<FoundLauncher>& launcher) {
  if (launcher) return with_launcher(command, *launcher, shim);
  Understood made;
  if (std::ranges::any_of(command, is_shim)) {
    made.words = at_markers(command, shim);
    made.explanation = "started by " + command[0] + "; programs: as marked";
    return made;
  }
  if (is_foreign_launcher(command[0]))
    throw UsageError("unisono run does not know the options of " + command[0] + ".\n" + mark_hint());
  made.words = before_program(shim, command);
  made.programs = {command[0]};
  made.explanation = "no launcher; program: " + command[0];
  return made;
}

}  // namespace unisono::launch
