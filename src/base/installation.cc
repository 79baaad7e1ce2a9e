// SPDX-License-Identifier: BSD-3-Clause
#include "base/installation.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace unisono {
namespace {

// The file that this code was loaded from.
std::string own_file() {
  const auto own = reinterpret_cast<std::uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos || std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
    if (begin <= own && own < end) return line.substr(slash);
  }
  return {};
}

}  // namespace

std::string prefix_of(const std::string& part) {
  std::filesystem::path folder = std::filesystem::path(part).parent_path();
  if (folder.filename() == "unisono" && folder.parent_path().filename() == "lib")
    folder = folder.parent_path();
  const bool is_known = folder.filename() == "lib" || folder.filename() == "bin";
  return is_known ? folder.parent_path().string() : std::string();
}

std::string own_prefix() {
  static const std::string prefix = prefix_of(own_file());
  return prefix;
}

std::string settings_folder_of(const std::string& prefix) {
  if (prefix.empty()) return {};
  return prefix == "/usr" || prefix == "/" ? "/etc" : prefix + "/etc";
}

}  // namespace unisono
