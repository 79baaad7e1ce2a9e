// SPDX-License-Identifier: BSD-3-Clause
#include "base/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/options.h"
#include "base/write_signals.h"

namespace unisono {
namespace {

std::string cannot_be(const char* what, int error) {
  return "cannot be " + std::string(what) + ": " + std::strerror(error);
}

// The null device is an empty file: by it users say that they want none.
bool is_null_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(1, 3);
}

std::string why_no_file(const struct stat& status) {
  if (S_ISREG(status.st_mode) || is_null_device(status)) return {};
  return S_ISDIR(status.st_mode) ? "is a directory" : "is no regular file";
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

ReadFile read_open(int descriptor, std::size_t most) {
  ReadFile read;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    read.problem = cannot_be("read", errno);
  } else {
    read.problem = why_no_file(status);
  }
  std::string text;
  while (read.problem.empty()) {
    char block[64 * 1024];
    const ssize_t got = ::read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) read.problem = cannot_be("read", errno);
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
    // Its size alone does not tell: those of /proc have none, and a file may grow.
    if (text.size() > most) {
      read.problem = "has more than " + bytes_to_text(static_cast<std::int64_t>(most)) + " bytes";
    }
  }
  ::close(descriptor);
  if (read.problem.empty()) read.text = std::move(text);
  return read;
}

ReadFile read_file(const std::string& name, std::size_t most) {
  struct stat status {};
  // Some devices do something already when they are opened.
  if (::stat(name.c_str(), &status) != 0) return {std::nullopt, cannot_be("read", errno)};
  if (std::string problem = why_no_file(status); !problem.empty()) return {std::nullopt, problem};
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return {std::nullopt, cannot_be("read", errno)};
  return read_open(descriptor, most);
}

std::optional<std::string> file_text(const std::string& name) {
  return read_file(name).text;
}

std::string why_not_replaced(const std::string& name) {
  struct stat status {};
  return ::stat(name.c_str(), &status) == 0 ? why_no_file(status) : std::string();
}

bool is_null_device(const std::string& name) {
  struct stat status {};
  return ::stat(name.c_str(), &status) == 0 && is_null_device(status);
}

std::string temporary_name(const std::string& name) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = static_cast<std::uint64_t>(now.tv_nsec) << 32 ^ static_cast<std::uint64_t>(::getpid());
  }
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  constexpr std::size_t most_kept = 200;  // file systems take 255 bytes
  return name.substr(0, begin) + "." + name.substr(begin, most_kept) + "." + text;
}

std::string replace_file(int folder, const std::string& name, std::string_view text, mode_t mode) {
  const WithoutWriteSignals without_signals;
  const std::string temporary = temporary_name(name);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::openat(folder, temporary.c_str(), flags, mode);
  if (descriptor < 0) return cannot_be("written", errno);
  bool is_whole = write_all(descriptor, text);
  int error = errno;
  if (::close(descriptor) != 0 && is_whole) {
    error = errno;
    is_whole = false;
  }
  if (is_whole && ::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) return {};
  if (is_whole) error = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  return cannot_be("written", error);
}

std::string replace_file(const std::string& name, std::string_view text, mode_t mode) {
  if (is_null_device(name)) return {};
  std::string problem = why_not_replaced(name);
  return problem.empty() ? replace_file(AT_FDCWD, name, text, mode) : "cannot be written: it " + problem;
}

}  // namespace unisono
