// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/report_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace unisono::runtime {

std::string other_place_of_report(const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path name = fs::path(file).filename();
  std::error_code error;
  std::vector<fs::path> folders = {fs::current_path(error)};
  if (const char* home = std::getenv("HOME")) folders.emplace_back(home);
  for (const fs::path& folder : folders) {
    struct stat status {};
    const std::string place = (folder / name).string();
    if (!folder.is_absolute() || place == file || access(folder.c_str(), W_OK | X_OK) != 0) continue;
    if (lstat(place.c_str(), &status) != 0 && errno == ENOENT) return place;
  }
  return {};
}

}  // namespace unisono::runtime
