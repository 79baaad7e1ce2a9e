// SPDX-License-Identifier: BSD-3-Clause
#include "front/places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "launch/errors.h"

namespace unisono::front {
namespace {

namespace fs = std::filesystem;

constexpr const char* shim_name = "unisono-exec";
constexpr const char* tool_name = "unisono-tool";
constexpr const char* agent_name = "unisono-agent";
constexpr const char* library_name = "libunisono.so";
constexpr const char* python_name = "unisono-cli";
constexpr int most_links = 40;

fs::path own_file() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed);
}

bool is_file(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

bool is_folder(const std::string& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

}  // namespace

std::string with_home(std::string path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const char* home = std::getenv("HOME");
  return home == nullptr ? path : home + path.substr(1);
}

Home::Home() {
  const char* named = std::getenv("UNISONO_HOME");
  const bool is_named = named != nullptr && named[0] != '\0';
  path_ = is_named ? launch::absolute(with_home(named)) : own_file().parent_path().parent_path().string();
  reason_ = is_named ? "UNISONO_HOME" : "the folder above this program's";
}

std::string Home::library_path() const {
  const std::string installed = path_ + "/lib/unisono/" + library_name;
  return is_file(installed) ? installed : path_ + "/lib/" + library_name;
}

std::string Home::path_of(const std::string& program) const {
  const bool is_installed = is_file(path_ + "/lib/unisono/" + library_name);
  return path_ + (is_installed ? "/lib/unisono/" : "/bin/") + program;
}

std::string Home::tool_path() const {
  return path_of(tool_name);
}

std::string Home::advice(bool is_there) const {
  // What pip makes of --target: all but what belongs below lib/, where it has put Python packages by itself.
  if (is_there && is_folder(path_ + "/share/unisono") && !is_folder(path_ + "/lib/unisono")) {
    return "`pip install --target` leaves out lib/unisono: install into an environment (python3 -m venv) "
           "instead.";
  }
  if (reason_ == "UNISONO_HOME") {
    return "UNISONO_HOME must name a folder with bin/ and lib/ of a build or an installation; correct it, or "
           "unset it to use the parts beside this program.";
  }
  return "In a source tree, build them: make build. Elsewhere, install Unisono again, or let UNISONO_HOME "
         "name the folder that holds its bin/ and lib/.";
}

std::string Home::require(const std::string& path, bool is_program) const {
  if (is_program ? launch::is_executable(path) : is_file(path)) return path;
  const bool is_there =
      is_file(path_ + "/bin/" + shim_name) || is_file(tool_path()) || is_file(library_path());
  std::string problem = "the compiled parts (" + std::string(tool_name) + ", " + shim_name + ", " +
                        library_name + ") were not found in: " + path_ + " (" + reason_ + ")";
  if (is_there) problem = path + (is_file(path) ? " is not executable" : " is missing");
  throw launch::Error(problem + "\n" + advice(is_there));
}

std::string Home::shim() const {
  return require(path_ + "/bin/" + shim_name, true);
}

std::string Home::tool() const {
  return require(tool_path(), true);
}

std::string Home::agent() const {
  return require(path_of(agent_name), true);
}

std::string Home::library() const {
  return require(library_path(), false);
}

launch::Words Home::families() const {
  constexpr std::string_view prefix = "libunisono-", suffix = ".so";
  launch::Words found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(fs::path(library_path()).parent_path(), failed)) {
    const std::string name = entry.path().filename();
    if (name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) && name.ends_with(suffix))
      found.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  std::ranges::sort(found);
  return found;
}

std::string python_command(const std::string& called) {
  fs::path file = launch::find_program(called);
  launch::Words looked;
  const auto is_beside = [&looked](const fs::path& program) {
    const std::string folder = launch::absolute(program.parent_path().empty() ? "." : program.parent_path());
    if (std::ranges::find(looked, folder) == looked.end()) looked.push_back(folder);
    return launch::is_executable(folder + "/" + python_name);
  };
  std::error_code failed;
  for (int i = 0; i < most_links && !file.empty(); ++i) {
    if (is_beside(file)) return looked.back() + "/" + python_name;
    const fs::path target = fs::read_symlink(file, failed);
    if (failed) break;
    file = target.is_absolute() ? target : file.parent_path() / target;
  }
  if (is_beside(own_file())) return looked.back() + "/" + python_name;
  throw launch::Error("only `unisono run` works without Python, and its part of the command, " +
                      std::string(python_name) + ", is not in " + launch::joined(looked, " or ") +
                      "\nInstall it beside this program: python3 -m pip install unisono. In a source tree: "
                      "make setup.");
}

}  // namespace unisono::front
