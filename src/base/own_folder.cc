// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace unisono {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 1s;  // for other jobs' writing
constexpr mode_t folder_mode = 0700;

std::string cannot_be_written() {
  return "cannot be written: " + std::string(std::strerror(errno));
}

// 0, or why it could not be made where it is not there.
int make(int from, const std::string& path) {
  return ::mkdirat(from, path.c_str(), folder_mode) == 0 || errno == EEXIST ? 0 : errno;
}

// The first of such errors: what comes below a folder that is not there says nothing.
int make_above(const std::string& path) {
  int first = 0;
  for (std::size_t i = path.find('/', 1); i != std::string::npos; i = path.find('/', i + 1)) {
    const int error = make(AT_FDCWD, path.substr(0, i));
    if (first == 0) first = error;
  }
  return first;
}

}  // namespace

std::string why_not_own(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "belongs to another user (number " + std::to_string(status.st_uid) + ")";
  }
  return is_own(status) ? "" : "may be written by others (chmod go-w)";
}

bool is_own(const struct stat& status) {
  // A group of the user's own name is nobody else's: where there are such, it has the user's number.
  const bool is_own_group = status.st_gid == status.st_uid;
  const bool is_shared =
      (status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !is_own_group);
  return (status.st_uid == ::geteuid() || status.st_uid == 0) && !is_shared;
}

OwnFolder::OwnFolder(const std::string& path, const std::vector<std::string>& inner, Missing missing)
    : path_(path) {
  enter(AT_FDCWD, path, 0, missing, missing == Missing::is_made ? make_above(path) : 0);
  for (const std::string& name : inner) {
    if (!is_there()) break;
    path_ += "/" + name;
    const int above = descriptor_;
    enter(above, name, O_NOFOLLOW, missing, 0);
    ::close(above);
  }
}

void OwnFolder::enter(int from, const std::string& name, int flags, Missing missing, int not_made) {
  descriptor_ = -1;
  if (missing == Missing::is_made) {
    const int error = make(from, name);
    if (not_made == 0) not_made = error;
  }
  const int opened = ::openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
  if (opened < 0) {
    if (errno == ENOENT && missing == Missing::stays) return;
    const char* use = missing == Missing::is_made ? " cannot be written: " : " cannot be read: ";
    problem_ = path_ + use + std::strerror(errno == ENOENT && not_made != 0 ? not_made : errno);
    return;
  }
  struct stat status {};
  const std::string why = ::fstat(opened, &status) == 0
                              ? why_not_own(status)
                              : "cannot be looked at: " + std::string(std::strerror(errno));
  if (why.empty()) {
    descriptor_ = opened;
    return;
  }
  ::close(opened);
  problem_ = path_ + " is not used: it " + why;
}

OwnFolder::~OwnFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ReadFile OwnFolder::read(const std::string& name, std::size_t most) const {
  if (!is_there()) return {std::nullopt, "is not there"};
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  struct stat status {};
  // Some devices do something already when they are opened.
  if (::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode)) {
    return {std::nullopt, S_ISDIR(status.st_mode) ? "is a directory" : "is no regular file"};
  }
  const int opened = ::openat(descriptor_, name.c_str(), flags);
  if (opened < 0) return {std::nullopt, "cannot be read: " + std::string(std::strerror(errno))};
  if (::fstat(opened, &status) == 0) {
    if (std::string why = why_not_own(status); !why.empty()) {
      ::close(opened);
      return {std::nullopt, "is not used: it " + why};
    }
  }
  return read_open(opened, most);
}

std::string OwnFolder::write(const std::string& name, std::string_view text) const {
  return replace_file(descriptor_, name, text, for_owner);
}

std::string OwnFolder::remove(const std::string& name) const {
  if (::unlinkat(descriptor_, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return "cannot be removed: " + std::string(std::strerror(errno));
}

void OwnFolder::rename(const std::string& from, const std::string& to) const {
  ::renameat(descriptor_, from.c_str(), descriptor_, to.c_str());
}

bool OwnFolder::has(const std::string& name) const {
  struct stat status {};
  return is_there() && ::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<OwnFolder::Entry> OwnFolder::files() const {
  std::vector<Entry> found;
  if (!is_there()) return found;
  const int again = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listed = again < 0 ? nullptr : ::fdopendir(again);
  if (listed == nullptr) {
    if (again >= 0) ::close(again);
    return found;
  }
  while (const dirent* entry = ::readdir(listed)) {
    struct stat status {};
    if (::fstatat(descriptor_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
      found.push_back({entry->d_name, status.st_mtim});
    }
  }
  ::closedir(listed);
  return found;
}

Lock::Lock(const OwnFolder& folder, const std::string& name) {
  problem_ = take(folder, name);
  if (!problem_.empty()) problem_.insert(0, folder.path() + "/" + name + " ");
}

std::string Lock::take(const OwnFolder& folder, const std::string& name) {
  const auto open = [&] {
    constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    descriptor_ = ::openat(folder.descriptor(), name.c_str(), flags, for_owner);
  };
  open();
  struct stat status {};
  if (descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && (status.st_mode & 0077) != 0) {
    // Earlier versions made it so that others may hold it: one of those is not waited for.
    ::unlinkat(folder.descriptor(), name.c_str(), 0);
    ::close(descriptor_);
    open();
  }
  if (descriptor_ < 0) return cannot_be_written();
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return "is no regular file";
  if (std::string why = why_not_own(status); !why.empty()) return "is not used: it " + why;
  const auto end = std::chrono::steady_clock::now() + longest_wait;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return cannot_be_written();
    if (std::chrono::steady_clock::now() > end) return "is held by another job; nothing is written";
    std::this_thread::sleep_for(2ms);
  }
  return {};
}

Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace unisono
