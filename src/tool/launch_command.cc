// SPDX-License-Identifier: BSD-3-Clause
// Launchers' command lines, for the commands that start jobs of their own.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/json_text.h"
#include "base/options.h"
#include "launch/detect.h"
#include "launch/errors.h"
#include "launch/parse.h"
#include "launch/rewrite.h"
#include "launch/run_options.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string cache() {
  std::vector<std::string> warnings;  // which jobs say
  return cache_directory(read_options(Environment::of_process(), &warnings).cache);
}

ordered_json to_json(const launch::Launcher& launcher) {
  return {{"path", launcher.path},
          {"flavour", launcher.flavour->name},
          {"version", launcher.version},
          {"title", launcher.title()}};
}

launch::Shim shim_of(const Arguments& arguments) {
  launch::Shim shim{arguments.text("shim"), arguments.text("library"), {}, arguments.all("adapter")};
  for (const std::string& setting : arguments.all("set")) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) throw UsageError("--set takes NAME=VALUE, not '" + setting + "'");
    shim.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return shim;
}

// The words behind the launcher's name that start a program, if there are any.
launch::Words program_of(const launch::Words& command, std::size_t position,
                         const launch::Launcher& launcher) {
  const launch::Words behind(command.begin() + static_cast<std::ptrdiff_t>(position) + 1, command.end());
  try {
    return launch::sections_of(*launcher.flavour, behind)[0].program;
  } catch (const launch::UsageError&) {
    return {};
  }
}

}  // namespace

int read_command(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"word", "shim", "library", "adapter", "set"}, {});
  const launch::Words command = arguments.all("word");
  if (command.empty()) throw UsageError("say which: --word");
  ordered_json answer{{"position", nullptr}, {"launcher", nullptr}};
  try {
    if (arguments.has("shim")) {
      const launch::Understood understood =
          launch::rewrite(command, shim_of(arguments), launch::launcher_of(command, cache()));
      if (understood.launcher)
        answer = {{"position", understood.position}, {"launcher", to_json(*understood.launcher)}};
      answer["words"] = understood.words;
      answer["programs"] = understood.programs;
      answer["explanation"] = understood.explanation;
    } else if (const auto position = launch::launcher_position(command)) {
      const launch::Launcher launcher = launch::identify(command[*position], cache());
      answer = {{"position", *position},
                {"launcher", to_json(launcher)},
                {"program", program_of(command, *position, launcher)}};
    }
  } catch (const launch::UsageError& error) {
    throw UsageError(error.what());
  }
  print(answer);
  return 0;
}

// Who asks what is here wants nothing kept: each is asked anew.
int list_launchers(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"folder", "file"}, {});
  std::vector<std::string> files = arguments.all("file");
  for (const std::string& folder : arguments.all("folder")) {
    std::vector<std::string> names;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string path = entry.path();
      if (launch::is_launcher_name(path) && launch::is_executable(path))
        names.push_back(entry.path().filename());
    }
    std::ranges::sort(names, {},
                      [](const std::string& name) { return std::pair(!name.starts_with("mpirun"), name); });
    for (const std::string& name : names) files.push_back(folder + "/" + name);
  }
  std::set<std::string> seen;
  ordered_json list = ordered_json::array();
  for (const std::string& file : files) {
    std::error_code failed;
    const fs::path real = fs::canonical(file, failed);
    if (seen.insert(failed ? file : real.string()).second)
      list.push_back(to_json(launch::identify(file, "")));
  }
  print(list);
  return 0;
}

int describe_run(const std::vector<std::string>& words) {
  const Arguments none(words, {}, {});
  ordered_json options = ordered_json::array();
  for (const launch::OwnOption& option : launch::own_options()) {
    options.push_back({{"name", option.name},
                       {"letter", option.letter == 0 ? "" : std::string(1, option.letter)},
                       {"value", option.value},
                       {"help", option.help}});
  }
  print({{"usage", launch::run_usage()},
         {"description", launch::run_description()},
         {"everyday", launch::everyday_options()},
         {"options", options}});
  return 0;
}

}  // namespace unisono::tool
