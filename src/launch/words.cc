// SPDX-License-Identifier: BSD-3-Clause
#include "launch/words.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace unisono::launch {
namespace {

bool is_plain(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";
  return !word.empty() && word.find_first_not_of(plain) == std::string_view::npos;
}

std::string quoted_word(const std::string& word) {
  if (is_plain(word)) return word;
  std::string made = "'";
  for (const char letter : word) made += letter == '\'' ? std::string("'\"'\"'") : std::string(1, letter);
  return made + "'";
}

}  // namespace

std::string_view base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string joined(const Words& words, std::string_view between) {
  std::string line;
  for (const std::string& word : words) {
    if (&word != words.data()) line += between;
    line += word;
  }
  return line;
}

std::string quoted(const Words& words) {
  Words made;
  std::ranges::transform(words, std::back_inserter(made), quoted_word);
  return joined(made);
}

bool is_executable(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string find_program(const std::string& word, const char* search) {
  if (word.empty()) return {};
  if (word.find('/') != std::string::npos) return is_executable(word) ? word : std::string();
  if (search == nullptr) search = std::getenv("PATH");
  std::string_view rest = search == nullptr ? "/bin:/usr/bin" : search;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string path = folder.empty() ? word : std::string(folder) + "/" + word;
    if (is_executable(path)) return path;
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

std::string absolute(const std::string& path) {
  std::error_code failed;
  std::string_view named = path;
  while (named.starts_with("./") && named.size() > 2) named.remove_prefix(2);
  const std::filesystem::path made = std::filesystem::absolute(named, failed);
  return failed ? path : made.string();
}

}  // namespace unisono::launch
