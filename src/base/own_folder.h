// SPDX-License-Identifier: BSD-3-Clause
// Folders that are the user's own: nobody else can have put anything there. What is in them is reached from
// the open folder and never through a link, so that nothing changes between the look at it and its use.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace unisono {

// Why what has this status may hold what another user wants, as a clause; empty: it is the caller's or
// root's, and nobody else may write there.
std::string why_not_own(const struct stat& status);
bool is_own(const struct stat& status);  // the same, for signal handlers

class OwnFolder {
 public:
  enum class Missing : unsigned char { is_made, stays };

  OwnFolder() = default;
  // The folder `path`, to which links may lead, and below it the folders `inner`, to which none may.
  OwnFolder(const std::string& path, const std::vector<std::string>& inner, Missing missing);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;

  // Neither there nor a problem: nobody has made it.
  bool is_there() const { return descriptor_ >= 0; }
  const std::string& problem() const { return problem_; }  // a whole sentence
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

  ReadFile read(const std::string& name, std::size_t most = most_file_bytes) const;
  std::string write(const std::string& name, std::string_view text) const;  // a clause, or empty
  std::string remove(const std::string& name) const;                        // a clause, or empty
  void rename(const std::string& from, const std::string& to) const;
  bool has(const std::string& name) const;
  struct Entry {
    std::string name;
    timespec changed;
  };
  std::vector<Entry> files() const;  // regular ones

 private:
  // `not_made`: why a folder above could not be made, if so.
  void enter(int from, const std::string& name, int flags, Missing missing, int not_made);

  std::string path_;
  int descriptor_ = -1;
  std::string problem_;
};

// Held from its beginning to its end; others wait, for a short time. The file behind it stays. Only the
// user's own jobs can hold it: nobody else can open it.
class Lock {
 public:
  Lock(const OwnFolder& folder, const std::string& name);
  ~Lock();
  Lock(const Lock&) = delete;
  const std::string& problem() const { return problem_; }  // a whole sentence

 private:
  std::string take(const OwnFolder& folder, const std::string& name);  // a clause, or empty

  int descriptor_ = -1;
  std::string problem_;
};

}  // namespace unisono
