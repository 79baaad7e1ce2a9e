// SPDX-License-Identifier: BSD-3-Clause
#include "launch/detect.h"

#include <algorithm>

#include "launch/capture.h"
#include "launch/remembered.h"

namespace unisono::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_answer = 10s;

constexpr std::string_view foreign_names = "aprun flux ibrun jsrun lrun mpirun_rsh mpiexec_mpt prun yod";

// Commands that run the command after them, as people put before a launcher.
constexpr std::string_view wrappers =
    "chrt env ionice ltrace nice nohup numactl setarch setsid stdbuf strace taskset time timeout xvfb-run";

constexpr std::string_view digits = "0123456789";
constexpr std::string_view blanks = " \t\n\v\f\r";

std::string_view word_at(std::string_view text, std::size_t begin) {
  return text.substr(begin, text.find_first_of(blanks, begin) - begin);
}

// The word behind `label` and at least one blank; empty where there is none.
std::string_view word_behind(std::string_view text, std::string_view label) {
  for (std::size_t at = text.find(label); at != std::string_view::npos; at = text.find(label, at + 1)) {
    const std::size_t end = at + label.size();
    const std::size_t begin = text.find_first_not_of(blanks, end);
    if (begin != std::string_view::npos && begin > end) return word_at(text, begin);
  }
  return {};
}

std::string_view intel_version(std::string_view text) {
  const std::size_t at = text.find("Intel(R) MPI Library");
  if (at == std::string_view::npos) return {};
  return word_behind(text.substr(at, text.find('\n', at) - at), "Version");
}

std::string_view hydra_version(std::string_view text) {
  const std::size_t at = text.find("HYDRA build details");
  return at == std::string_view::npos ? std::string_view() : word_behind(text.substr(at), "Version:");
}

// Spectrum MPI 10 is built on Open MPI 4; a bare PRRTE has version 2 or 3 and Open MPI 5's manners.
std::optional<Version> openmpi_version(std::string_view text) {
  for (const std::string_view name : {"(Open MPI)", "(OpenRTE)", "(PRRTE)", "(IBM Spectrum MPI)"}) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + name.size();
    std::size_t begin = text.find_first_not_of(blanks, end);
    if (begin == std::string_view::npos || begin == end) continue;
    if (text[begin] == 'v') ++begin;
    const std::string_view number = word_at(text, begin);
    const std::string_view major = number.substr(0, number.find_first_not_of(digits));
    if (major.empty()) continue;
    const bool is_old = major.size() == 1 && major[0] <= '4';
    const bool is_four = name.find("Spectrum") != std::string_view::npos ||
                         (is_old && name.find("PRRTE") == std::string_view::npos);
    return Version{&flavour_named(is_four ? "openmpi4" : "openmpi5"), std::string(number)};
  }
  return std::nullopt;
}

// For a launcher that does not say its version.
const Flavour& by_name(std::string_view name) {
  constexpr std::string_view names[][2] = {{"prterun", "openmpi5"},
                                           {"orterun", "openmpi4"},
                                           {"openmpi", "openmpi4"},
                                           {"hydra", "mpich"},
                                           {"mpich", "mpich"}};
  for (const auto& [part, flavour] : names) {
    if (name.find(part) != std::string_view::npos) return flavour_named(flavour);
  }
  return unknown_flavour();
}

}  // namespace

std::string Launcher::title() const {
  return std::string(flavour->title) + (version.empty() ? "" : " " + version);
}

bool is_launcher_name(std::string_view word) {
  if (is_foreign_launcher(word)) return false;
  const std::string_view name = base_name(word);
  for (const std::string_view known : {"mpirun", "mpiexec", "orterun", "prterun", "srun"}) {
    if (name == known) return true;
    if (!name.starts_with(known) || name.size() < known.size() + 2) continue;
    const std::string_view suffix = name.substr(known.size() + 1);
    const bool is_script = suffix == "py" || suffix == "sh" || suffix == "pl";
    if (std::string_view("._-").find(name[known.size()]) != std::string_view::npos && !is_script) return true;
  }
  return false;
}

bool is_foreign_launcher(std::string_view word) {
  return has_name(foreign_names, base_name(word));
}

std::optional<std::size_t> launcher_position(const Words& command) {
  if (command.empty()) return std::nullopt;
  if (is_launcher_name(command[0])) return 0;
  if (!has_name(wrappers, base_name(command[0]))) return std::nullopt;
  const auto found = std::ranges::find_if(
      command, [](const std::string& word) { return is_launcher_name(word) && !find_program(word).empty(); });
  if (found == command.end()) return std::nullopt;
  return static_cast<std::size_t>(found - command.begin());
}

Version parse_version(std::string_view text) {
  if (const std::string_view found = intel_version(text); !found.empty())
    return {&flavour_named("intel"), std::string(found)};
  if (const std::string_view found = hydra_version(text); !found.empty())
    return {&flavour_named("mpich"), std::string(found)};
  return openmpi_version(text).value_or(Version{&unknown_flavour(), ""});
}

Launcher identify(const std::string& word, const std::string& cache) {
  const std::string found = find_program(word);
  const std::string path = found.empty() ? word : found;
  if (base_name(word).starts_with("srun")) return {path, &flavour_named("srun"), ""};
  if (found.empty()) return {path, &by_name(base_name(word)), ""};
  const Remembered remembered(found, cache);
  if (const std::optional<Version> known = remembered.version()) return {path, known->flavour, known->number};
  const Answer answer = answer_of({found, "--version"}, longest_answer);
  const Version version = parse_version(answer.output + answer.errors);
  if (version.flavour == &unknown_flavour()) return {path, &by_name(base_name(word)), ""};
  remembered.keep(version);
  return {path, version.flavour, version.number};
}

}  // namespace unisono::launch
