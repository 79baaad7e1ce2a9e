// SPDX-License-Identifier: BSD-3-Clause
#include "launch/remembered.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/option_lines.h"
#include "base/own_folder.h"

namespace unisono::launch {
namespace {

constexpr std::size_t most_entry_bytes = 16384;

std::string beginning(const std::string& path) {
  std::string text(512, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t count = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

Remembered::Remembered(const std::string& path, const std::string& cache) {
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed).string();
  struct stat status {};
  if (cache.empty() || failed || ::stat(real.c_str(), &status) != 0) return;
  const std::string text = beginning(real);
  if (text.starts_with("#!")) {
    if (text.find("Intel Corporation") == std::string::npos) return;
    identity_ = joined({variable("PATH"), variable("I_MPI_ROOT"), std::string()}, "|");
  } else if (!text.starts_with("\x7f"
                               "ELF")) {
    return;
  }
  identity_ += real;
  for (const auto number :
       {static_cast<long long>(status.st_dev), static_cast<long long>(status.st_ino),
        static_cast<long long>(status.st_size), static_cast<long long>(status.st_mtim.tv_sec),
        static_cast<long long>(status.st_mtim.tv_nsec)})
    identity_.append(1, ' ').append(std::to_string(number));
  cache_ = cache;
  name_ = hash_of(real) + ".conf";
}

std::optional<Version> Remembered::version() const {
  if (name_.empty()) return std::nullopt;
  const OwnFolder folder(cache_, {"launchers"}, OwnFolder::Missing::stays);
  const ReadFile file = folder.read(name_, most_entry_bytes);
  if (!file.text) return std::nullopt;
  std::map<std::string, std::string> values;
  for (const OptionLine& line : option_lines(*file.text)) {
    if (!line.problem.empty()) return std::nullopt;
    values[line.name] = line.value;
  }
  const Flavour& flavour = flavour_named(values["flavour"]);
  if (values["launcher"] != identity_ || values["version"].empty() || &flavour == &unknown_flavour())
    return std::nullopt;
  return Version{&flavour, values["version"]};
}

void Remembered::keep(const Version& version) const {
  if (name_.empty()) return;
  const OwnFolder folder(cache_, {"launchers"}, OwnFolder::Missing::is_made);
  if (!folder.is_there()) return;  // it is asked again next time
  std::string text = "launcher = ";
  text += option_value_text(identity_) + "\nflavour = ";
  text += std::string(version.flavour->name) + "\nversion = " + option_value_text(version.number) + "\n";
  folder.write(name_, text);
}

}  // namespace unisono::launch
