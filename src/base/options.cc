// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "base/agent_places.h"
#include "base/files.h"
#include "base/near_names.h"
#include "base/option_lines.h"
#include "base/own_folder.h"
#include "base/shown.h"
#include "base/site_configuration.h"
#include "base/spawned.h"

namespace unisono {
namespace {

constexpr std::size_t most_configuration_bytes = std::size_t{1} << 20;
constexpr std::size_t most_value_bytes = std::size_t{64} << 10;
constexpr std::size_t most_shown = 200;

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const OptionSpec& spec : option_list()) found.emplace_back(spec.name);
  return found;
}

std::vector<std::string> variables() {
  std::vector<std::string> found;
  for (const OptionSpec& spec : option_list()) found.emplace_back(spec.environment);
  return found;
}

// What is read, and where it goes.
struct Reading {
  const Environment* environment;  // null: names of files are as they are
  std::vector<std::string>* warnings;
  std::vector<OptionOrigin>* origins;
};

void set_option(Options& options, const OptionSpec& spec, std::string_view value, const std::string& where,
                const Reading& reading) {
  const bool is_short = value.size() <= most_value_bytes;
  const bool is_whole = value.find('\0') == std::string_view::npos;
  const std::string meant =
      is_short && reading.environment ? with_home(spec, value, *reading.environment) : std::string(value);
  const std::string problem = !is_short   ? "is longer than all that can be meant"
                              : !is_whole ? "has a byte of 0 in it"
                                          : spec.set(options, meant);
  if (!problem.empty()) {
    reading.warnings->push_back(where + " '" + bounded(value, most_shown) + "' is ignored: it " + problem);
    return;
  }
  if (spec.name == "channel_bytes") options.is_channel_bytes_given = true;
  if (reading.origins) reading.origins->push_back({spec.name, where.substr(0, where.find(": "))});
}

void apply_lines(Options& options, std::string_view text, std::string_view where, const Reading& reading) {
  for (const OptionLine& line : option_lines(text)) {
    const std::string place = std::string(where) + " line " + std::to_string(line.number);
    if (!line.problem.empty()) {
      reading.warnings->push_back(place + " is ignored: " + line.problem);
      continue;
    }
    bool is_known = false;
    for (const OptionSpec& spec : option_list()) {
      if (spec.name != line.name) continue;
      is_known = true;
      set_option(options, spec, line.value, place + ": " + line.name, reading);
    }
    if (!is_known)
      reading.warnings->push_back(place + " is ignored: there is no option '" +
                                  bounded(line.name, most_shown) + "'" + did_you_mean(line.name, names()));
  }
}

// `~` and `~/...`, as a shell reads them; empty HOME: as it is.
std::string with_home(std::string_view file, const std::string& home) {
  const bool is_in_home = file == "~" || file.starts_with("~/");
  return is_in_home && !home.empty() ? home + std::string(file.substr(1)) : std::string(file);
}

// The file at the usual place, which is not used where it is another user's: HOME may be somebody else's, as
// under sudo, and options name files that are written.
ReadFile own_configuration(const std::string& path, std::vector<std::string>* warnings) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  std::string why = why_not_own(status);
  if (why.empty()) {
    ReadFile read = read_file(path, most_configuration_bytes);
    if (read.text) return read;
    why = read.problem;
  }
  warnings->push_back("the configuration file " + path + " is not used: it " + why);
  return {};
}

// Variables that others than this list read (the command line, the shim): no reason for a warning.
bool is_known_variable(std::string_view name) {
  for (std::string_view other : {"UNISONO_CONFIG", "UNISONO_HOME", "UNISONO_LIBRARY", "UNISONO_SITE_CONFIG",
                                 agents_job_variable, agents_left_out_variable, spawned_variable}) {
    if (name == other) return true;
  }
  for (const OptionSpec& spec : option_list()) {
    if (spec.environment == name) return true;
  }
  return false;
}

}  // namespace

ConfigurationFile configuration_file(const Environment& environment) {
  const std::string home = environment.find("HOME").value_or("");
  const std::string given = environment.find("UNISONO_CONFIG").value_or("");
  if (!given.empty()) return {with_home(given, home), true};
  const std::string base = environment.find("XDG_CONFIG_HOME").value_or("");
  if (!base.empty()) return {base + "/unisono/unisono.conf"};
  return {environment.find("HOME") ? home + "/.config/unisono/unisono.conf" : std::string()};
}

std::string with_home(const OptionSpec& spec, std::string_view value, const Environment& environment) {
  const std::string home = environment.find("HOME").value_or("");
  if (spec.type == "file" || spec.name == "machine") return with_home(value, home);
  if (spec.type != "files") return std::string(value);
  std::string meant;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(':', begin), value.size());
    if (begin != 0) meant += ':';
    meant += with_home(value.substr(begin, end - begin), home);
    begin = end + 1;
  }
  return meant;
}

Options read_options(const Environment& environment, std::vector<std::string>* warnings,
                     std::vector<OptionOrigin>* origins) {
  Options options;
  const Reading reading{&environment, warnings, origins};
  for (const SiteConfiguration& site : site_configurations(environment, warnings)) {
    apply_lines(options, site.text, site.path, reading);
  }
  const auto [path, is_explicit] = configuration_file(environment);
  if (!path.empty()) {
    const ReadFile read =
        is_explicit ? read_file(path, most_configuration_bytes) : own_configuration(path, warnings);
    if (read.text) {
      apply_lines(options, *read.text, path, reading);
    } else if (is_explicit) {
      const bool is_unread = read.problem.rfind("cannot", 0) == 0;
      warnings->push_back("the configuration file " + path + " (UNISONO_CONFIG) " +
                          (is_unread ? "" : "cannot be read: it ") + read.problem);
    }
  }
  for (const OptionSpec& spec : option_list()) {
    const std::optional<std::string> value = environment.find(spec.environment);
    if (value) set_option(options, spec, without_blanks(*value), std::string(spec.environment), reading);
  }
  options.agents_job = environment.find(agents_job_variable).value_or("");
  for (const std::string_view entry : environment.variables()) {
    if (entry.rfind("UNISONO_", 0) != 0) continue;
    const std::string_view variable_name = entry.substr(0, entry.find('='));
    if (!is_known_variable(variable_name)) {
      warnings->push_back("there is no option " + bounded(variable_name, most_shown) +
                          did_you_mean(variable_name, variables()) + " ('unisono options' lists them)");
    }
  }
  return options;
}

std::string cache_directory(std::string_view option, const Environment& environment) {
  if (option == "none" || option == "off") return {};
  if (option != "auto") return std::string(option);
  const std::string base = environment.find("XDG_CACHE_HOME").value_or("");
  if (base.starts_with('/')) return base + "/unisono";
  const std::string home = environment.find("HOME").value_or("");
  return home.starts_with('/') ? home + "/.cache/unisono" : std::string();
}

std::string to_text(const Options& options) {
  std::string text;
  for (const OptionSpec& spec : option_list())
    text += std::string(spec.name) + " = " + option_value_text(spec.get(options)) + "\n";
  return text;
}

Options options_from_text(std::string_view text, std::vector<std::string>* warnings) {
  Options options;
  apply_lines(options, text, "options", {nullptr, warnings, nullptr});
  return options;
}

std::int64_t verify_interval(std::string_view text) {
  constexpr std::int64_t standard = 256, most = std::int64_t{1} << 31;
  constexpr std::string_view with_number = "sample:";
  if (text == "off") return 0;
  if (text == "all") return 1;
  if (text == "sample") return standard;
  if (text.rfind(with_number, 0) != 0) return -1;
  std::int64_t interval = 0;
  const std::string_view number = text.substr(with_number.size());
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), interval);
  const bool is_number = error == std::errc() && end == number.data() + number.size();
  return is_number && interval >= 1 && interval <= most ? interval : -1;
}

std::int64_t bytes_from_text(std::string_view text) {
  text = without_blanks(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return -1;
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    unit += *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  int shift = 0;
  for (const auto& [letter, bits] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}}) {
    if (unit == std::string(1, letter) || unit == std::string{letter, 'B'} ||
        unit == std::string{letter, 'I', 'B'})
      shift = bits;
  }
  if (shift == 0 && !unit.empty() && unit != "B") return -1;
  if (value > (INT64_MAX >> shift)) return -1;
  return value << shift;
}

std::string bytes_to_text(std::int64_t bytes) {
  for (const auto& [letter, bits] : {std::pair{'T', 40}, {'G', 30}, {'M', 20}, {'K', 10}}) {
    const std::int64_t unit = std::int64_t{1} << bits;
    if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes >> bits) + letter;
  }
  return std::to_string(bytes);
}

}  // namespace unisono
