// SPDX-License-Identifier: BSD-3-Clause
#include "front/spawned_reports.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/spawned.h"

namespace unisono::front {
namespace {

namespace fs = std::filesystem;

std::vector<int> numbers_of(std::string_view name) {
  std::vector<int> numbers;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    int number = 0;
    std::from_chars(name.data() + begin, name.data() + end, number);
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

std::vector<SpawnedReport> reports_of_spawned(const std::string& file) {
  const fs::path pattern = file_of_spawned(file, "*");
  const std::string name = pattern.filename().string();
  const std::string begin = name.substr(0, name.rfind('*')), end = name.substr(name.rfind('*') + 1);
  std::vector<SpawnedReport> found;
  std::error_code failed;
  const fs::path folder = pattern.parent_path().empty() ? fs::path(".") : pattern.parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string there = entry.path().filename().string();
    if (there.size() <= begin.size() + end.size() || !there.starts_with(begin) || !there.ends_with(end))
      continue;
    const std::string middle = there.substr(begin.size(), there.size() - begin.size() - end.size());
    if (middle.find_first_not_of("0123456789.") != std::string::npos) continue;
    if (fs::is_regular_file(entry.symlink_status(failed))) found.push_back({middle, entry.path().string()});
  }
  std::ranges::sort(found, {}, [](const SpawnedReport& one) { return numbers_of(one.name); });
  return found;
}

}  // namespace unisono::front
