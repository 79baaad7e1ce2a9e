// SPDX-License-Identifier: BSD-3-Clause
// Files that jobs at the same time may write: one after the other, each of them whole.
#pragma once

#include <string>

namespace unisono::tuning {

std::string problem_with(const std::string& file, int error);

// Held from its beginning to its end; others wait, for a bounded time. The file behind it stays.
class Lock {
 public:
  explicit Lock(const std::string& file);
  ~Lock();
  Lock(const Lock&) = delete;
  const std::string& problem() const { return problem_; }

 private:
  int descriptor_;
  std::string problem_;
};

// Whoever reads the file meanwhile finds what it was, or all that is new. Empty, or what went wrong.
std::string write_whole(const std::string& file, const std::string& text);

}  // namespace unisono::tuning
