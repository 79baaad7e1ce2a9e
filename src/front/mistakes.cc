// SPDX-License-Identifier: BSD-3-Clause
#include "front/mistakes.h"

#include <algorithm>

#include "base/files.h"
#include "launch/errors.h"
#include "launch/launcher_options.h"
#include "launch/linked_mpi.h"

namespace unisono::front {
namespace {

using launch::UsageError;
using launch::Words;

constexpr std::size_t most_script_bytes = std::size_t{1} << 20;

using Position = Words::const_iterator;

// As it would be typed, behind what the user has typed before a command.
std::string typed(const std::string& lead, const Words& command) {
  return lead + " " + launch::quoted(command);
}

// `unisono run`, `unisono profile`.
std::string name_in(const std::string& lead) {
  return "`" + lead.substr(0, lead.find(' ', lead.find(' ') + 1)) + "`";
}

bool is_of_a_launcher(std::string_view word) {
  const std::size_t begin = std::min(word.find_first_not_of('-'), word.size());
  const std::string_view name = word.substr(begin, word.find('=') - begin);
  // A letter with its value behind it, -n4.
  const bool is_count = !word.starts_with("--") && name.size() > 1 && (name[0] == 'n' || name[0] == 'N') &&
                        name.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_count || std::ranges::any_of(std::initializer_list<std::string_view>{"openmpi5", "openmpi4",
                                                                                 "mpich", "intel", "srun"},
                                         [name](std::string_view flavour) {
                                           return launch::flavour_named(flavour).arity(name).has_value();
                                         });
}

Position launcher_in(const Words& command) {
  return std::ranges::find_if(command, [](const std::string& word) {
    return launch::is_launcher_name(word) && !launch::find_program(word).empty();
  });
}

struct Starter {
  std::string_view name;
  std::string_view verbs;  // one of which comes first; empty: none
  bool is_container;
};
constexpr Starter starters[] = {
    {"sbatch", "", false},        {"salloc", "", false},           {"qsub", "", false},
    {"bsub", "", false},          {"apptainer", "exec run", true}, {"singularity", "exec run", true},
    {"docker", "run exec", true}, {"podman", "run exec", true},    {"podman-hpc", "run exec", true},
    {"shifter", "", true},
};

const Starter* starter_of(const Words& command) {
  const std::string_view name = launch::base_name(command[0]);
  for (const Starter& starter : starters) {
    const bool has_verb =
        starter.verbs.empty() || std::ranges::any_of(command, [&starter](const std::string& word) {
          return launch::has_name(starter.verbs, word);
        });
    if (starter.name == name && has_verb) return &starter;
  }
  return nullptr;
}

// The words of a line of a script; none for comments.
Words words_of_line(std::string_view line) {
  Words words;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  if (!words.empty() && words[0].starts_with('#')) words.clear();
  return words;
}

bool is_shell(const std::string& word) {
  constexpr std::string_view shells[] = {"sh", "bash", "dash", "ksh", "zsh"};
  return std::ranges::find(shells, launch::base_name(word)) != std::end(shells);
}

bool is_shell_script(std::string_view text) {
  if (!text.starts_with("#!")) return false;
  const Words line = words_of_line(text.substr(2, text.find('\n') - 2));
  return std::ranges::any_of(line, is_shell);
}

// A line that starts a launcher: behind assignments, `exec` and what people put before one.
struct LauncherLine {
  std::size_t number = 0;  // 0: there is none
  Words words;
};
LauncherLine launcher_line(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Words words = words_of_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!words.empty() &&
           (words[0] == "exec" || (words[0].find('=') != std::string::npos && words[0][0] != '-')))
      words.erase(words.begin());
    if (launch::launcher_position(words)) return {number, std::move(words)};
  }
  return {};
}

void require_no_script(const std::string& lead, const Words& command) {
  const bool is_for_shell = command.size() > 1 && is_shell(command[0]);
  const std::string& script = command[is_for_shell ? 1 : 0];
  const std::string file = is_for_shell ? script : launch::find_program(script);
  const ReadFile read = file.empty() ? ReadFile() : read_file(file, most_script_bytes);
  if (!read.text || !(is_for_shell || is_shell_script(*read.text))) return;
  const LauncherLine line = launcher_line(*read.text);
  if (line.number == 0) return;
  throw UsageError(script + " is a script that starts MPI programs by itself (line " +
                   std::to_string(line.number) +
                   "). Unisono belongs before its launcher: write into that line\n  " + lead + " " +
                   launch::joined(line.words));
}

// The launchers of an MPI that are installed here, without asking them: known by name.
std::string launcher_of(const std::string& family) {
  const bool is_openmpi = family == "Open MPI";
  constexpr const char* openmpi[] = {"mpirun.openmpi", "orterun", "prterun"};
  constexpr const char* hydra[] = {"mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"};
  for (const char* name : is_openmpi ? openmpi : hydra) {
    if (!launch::find_program(name).empty()) return name;
  }
  return {};
}

void require_same_mpi(const std::string& lead, const Words& command, const launch::Understood& understood,
                      const std::string& program) {
  const launch::LinkedMpi linked = launch::linked_mpi(launch::find_program(program));
  const launch::Launcher& launcher = *understood.launcher;
  if (linked.family.empty() || launch::starts(launcher, linked)) return;
  const std::string found = linked.launcher.empty() ? launcher_of(linked.family) : linked.launcher;
  Words meant = command;
  meant[understood.position] = found;
  throw UsageError(program + " is linked to " + linked.family + " (" + linked.library + "), and " +
                   launcher.path + " is the launcher of " + launcher.title() +
                   ": the ranks would not find each other, and each would run as a job of its own.\n" +
                   (found.empty() ? "Start it by the launcher of " + linked.family +
                                        ", or compile it with the mpicc beside " + launcher.path + "."
                                  : "Start it by its own launcher:\n  " + typed(lead, meant)) +
                   "\nWhere this is meant, write `unisono-exec` before the program.");
}

}  // namespace

std::string lead_of_run(const Words& options) {
  Words words{"unisono", "run"};
  words.insert(words.end(), options.begin(), options.end());
  return launch::quoted(words);
}

void require_no_launchers_option(const Words& words, std::size_t position) {
  if (!is_of_a_launcher(words[position])) return;
  const Words options(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(position));
  Words rest(words.begin() + static_cast<std::ptrdiff_t>(position), words.end());
  const auto launcher = launcher_in(rest);
  std::string name = "mpirun";
  if (launcher != rest.end()) {
    name = *launcher;
    rest.erase(launcher);
  }
  rest.insert(rest.begin(), name);
  throw UsageError(words[position] + " is an option of the launcher, and belongs behind it:\n  " +
                   typed(lead_of_run(options), rest));
}

void require_no_launcher(const std::string& option, const Words& words, std::size_t position) {
  const std::string& word = words[position];
  const bool is_launcher = word.find('/') == std::string::npos && launch::is_launcher_name(word) &&
                           !launch::find_program(word).empty();
  const Words behind(words.begin() + static_cast<std::ptrdiff_t>(position) + 1, words.end());
  // With a launcher further behind it may be a file's name.
  if (!is_launcher || launcher_in(behind) != behind.end()) return;
  Words options(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(position));
  options.emplace_back("VALUE");
  throw UsageError(
      option + " wants a value, and " + word + " is a launcher (for a file of that name write ./" + word +
      "):\n  " +
      typed(lead_of_run(options), Words(words.begin() + static_cast<std::ptrdiff_t>(position), words.end())));
}

void require_launcher_first(const std::string& lead, const Words& command) {
  if (launch::launcher_position(command) || std::ranges::any_of(command, launch::is_shim)) return;
  const Starter* starter = starter_of(command);
  if (starter == nullptr) return require_no_script(lead, command);
  const auto launcher = launcher_in(command);
  if (launcher != command.end()) {
    throw UsageError(name_in(lead) + " belongs before the launcher, inside " + command[0] +
                     (starter->is_container ? " (where Unisono has to be installed too)" : "") + ":\n  " +
                     launch::quoted(Words(command.begin(), launcher)) + " " +
                     typed(lead, Words(launcher, command.end())));
  }
  if (starter->is_container) {
    throw UsageError("nothing that is set here is certain to reach a program inside " + command[0] +
                     ". Install Unisono in the container, and write before the program there:\n  " +
                     command[0] + " ... " + typed(lead, {"PROGRAM"}));
  }
  throw UsageError(name_in(lead) + " belongs before the launcher inside the job, not before " + command[0] +
                   ". Write into the job's script:\n  " + typed(lead, {"mpirun", "..."}));
}

void require_launchers_mpi(const std::string& lead, const Words& command,
                           const launch::Understood& understood) {
  if (!understood.launcher) return;
  for (const std::string& program : understood.programs) {
    const std::string_view name = launch::base_name(program);
    if (launch::has_name("docker podman", name)) {
      throw UsageError(
          "what Unisono sets does not reach a program inside " + std::string(name) +
          ". Install Unisono in the container, and write unisono-exec there before the program:\n  " +
          std::string(name) + " run ... unisono-exec PROGRAM");
    }
  }
  if (std::ranges::any_of(command, launch::is_shim)) return;
  for (const std::string& program : understood.programs) require_same_mpi(lead, command, understood, program);
}

}  // namespace unisono::front
