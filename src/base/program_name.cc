// SPDX-License-Identifier: BSD-3-Clause
#include "base/program_name.h"

#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/files.h"

namespace unisono {
namespace {

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

std::string program_name(const std::string& executable, const std::vector<std::string>& words) {
  const std::string name = base_name(executable);
  if (name.rfind("python", 0) != 0) return name;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-c") return name + " -c";
    if (!words[i].empty() && words[i].front() != '-') return name + " " + base_name(words[i]);
  }
  return name;
}

std::vector<std::string> command_words() {
  std::istringstream line(file_text("/proc/self/cmdline").value_or(""));
  std::vector<std::string> words;
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  return words;
}

std::string program_name() {
  std::error_code unknown;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::vector<std::string> words = command_words();
  const bool is_known = !unknown && !executable.empty();
  return program_name(is_known ? executable.string() : words.empty() ? "program" : words[0], words);
}

}  // namespace unisono
