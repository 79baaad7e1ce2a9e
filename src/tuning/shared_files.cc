// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/shared_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

namespace unisono::tuning {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_wait = 10s;  // for other jobs' writing

}  // namespace

std::string problem_with(const std::string& file, int error) {
  return file + " cannot be written: " + std::strerror(error);
}

Lock::Lock(const std::string& file) : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    problem_ = problem_with(file, errno);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + longest_wait;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      problem_ = problem_with(file, errno);
      return;
    }
    if (std::chrono::steady_clock::now() > end) {
      problem_ = file + " is held by another job; nothing is written";
      return;
    }
    std::this_thread::sleep_for(5ms);
  }
}

Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string write_whole(const std::string& file, const std::string& text) {
  const std::string temporary = file + ".tmp." + std::to_string(::getpid());
  std::ofstream stream(temporary);
  stream << text;
  stream.close();
  if (stream && std::rename(temporary.c_str(), file.c_str()) == 0) return {};
  const int error = errno;
  std::remove(temporary.c_str());
  return problem_with(file, error);
}

}  // namespace unisono::tuning
