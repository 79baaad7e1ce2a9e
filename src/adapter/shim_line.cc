// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/shim_line.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "adapter/below/functions.h"
#include "base/environment.h"
#include "base/installation.h"
#include "base/program_file.h"
#include "base/spawned.h"

namespace unisono::adapter {
namespace {

// Of the job that spawns, and of nobody else.
constexpr std::string_view not_handed_on[] = {spawned_variable, "UNISONO_AGENTS_JOB",
                                              "UNISONO_AGENTS_LEFT_OUT"};
// Intel MPI's launcher ends a program that spawns with longer ones.
constexpr std::size_t most_in_word = 4000;
// With the first two the launcher copies the program's file, which would be the shim's. Launchers differ in
// what they do with the third: look there first, put it before any name, or nothing.
constexpr const char* left_keys[] = {"ompi_preload_binary", "PMIX_PRELOAD_BIN", "path"};

std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int is_set = 0;
  if (info == MPI_INFO_NULL) return {};
  const int error = pmpi.Info_get(info, key, MPI_MAX_INFO_VAL, value, &is_set);
  return error == MPI_SUCCESS && is_set != 0 ? std::string(value) : std::string();
}

bool is_executable(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

// The program as the shim finds it, and its file; no name where it is not found here.
struct Program {
  std::string name, file;
};

// Of such folders launchers and the shim, which is started in another one, may make different things.
bool has_relative_folder(std::string_view folders) {
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    if (end == begin || folders[begin] != '/') return true;
    begin = end + 1;
  }
  return false;
}

Program find(const std::string& name, MPI_Info info) {
  const std::string folder = value_of(info, "wdir");
  const std::string here = folder.empty() ? std::string() : folder + "/";
  if (name.find('/') != std::string::npos) {
    const std::string file = name[0] == '/' ? name : here + name;
    return is_executable(file) ? Program{name, file} : Program{};
  }
  const char* folders = std::getenv("PATH");
  if (folders != nullptr && has_relative_folder(folders)) return {};
  char file[PATH_MAX];
  if (unisono_find_program(name.c_str(), file, sizeof file) == 0) return {name, file};
  // Open MPI looks there for no bare names.
  const bool looks_there = std::string_view(family) != "openmpi";
  return looks_there && is_executable(here + name) ? Program{"./" + name, here + name} : Program{};
}

// Library and shim of the installation that this adapter belongs to; empty where they are not both there.
struct Parts {
  std::string library, shim;
};

Parts own_parts() {
  const std::string prefix = own_prefix();
  for (const auto& [libraries, programs] :
       {std::pair("/lib/unisono/", "/lib/unisono/"), std::pair("/lib/", "/bin/")}) {
    Parts parts{prefix + libraries + "libunisono.so", prefix + programs + "unisono-exec"};
    if (!prefix.empty() && ::access(parts.library.c_str(), R_OK) == 0 && is_executable(parts.shim))
      return parts;
  }
  return {};
}

void add_settings(std::vector<std::string>* words) {
  const Environment environment = Environment::of_process();
  for (const std::string& variable : environment.variables()) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    // Launchers of MPICH's kind send a line for each word.
    if (!name.starts_with("UNISONO_") || variable.find_first_of("\n\r") != std::string::npos ||
        std::ranges::find(not_handed_on, name) != std::end(not_handed_on))
      continue;
    words->insert(words->end(), {"--set", variable});
  }
}

}  // namespace

std::unique_ptr<ShimLine> ShimLine::of(const char* command, char* const arguments[], MPI_Info info,
                                       const std::string& spawned_as) {
  if (command == nullptr || command[0] == '\0') return nullptr;
  for (const char* key : left_keys) {
    if (!value_of(info, key).empty()) return nullptr;
  }
  const Parts parts = own_parts();
  const Program program = find(command, info);
  if (parts.shim.empty() || program.name.empty()) return nullptr;
  auto line = std::make_unique<ShimLine>();
  std::vector<std::string>& words = line->words_;
  words.push_back(parts.shim);
  add_settings(&words);
  words.insert(words.end(), {"--set", std::string(spawned_variable) + "=" + spawned_as, "--library",
                             parts.library, "--adapters", family, "--", program.name});
  if (std::ranges::any_of(words, [](const std::string& word) { return word.size() > most_in_word; }))
    return nullptr;
  for (; arguments != MPI_ARGV_NULL && *arguments != nullptr; ++arguments) words.emplace_back(*arguments);
  for (std::size_t i = 1; i < words.size(); ++i) line->pointers_.push_back(words[i].data());
  line->pointers_.push_back(nullptr);
  line->is_loadable_ = unisono_obstacle(program.file.c_str()) == nullptr;
  return line;
}

}  // namespace unisono::adapter
