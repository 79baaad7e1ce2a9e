// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/end_strangers.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace unisono::runtime {
namespace {

constexpr std::size_t most_processes = 64;

// What follows runs in a child of a process of several threads: system calls alone are safe there.

int open_process(int id) {
  return static_cast<int>(syscall(SYS_pidfd_open, id, 0));
}

std::int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{1000} * time.tv_sec + time.tv_nsec / 1'000'000;
}

// Are all gone within that time?
bool are_gone(std::array<pollfd, most_processes>& opened, std::size_t count, std::int64_t patience_ms) {
  const std::int64_t end_ms = now_ms() + patience_ms;
  for (;;) {
    const std::int64_t left_ms = std::max<std::int64_t>(end_ms - now_ms(), 0);
    const bool is_any = std::any_of(opened.begin(), opened.begin() + static_cast<std::ptrdiff_t>(count),
                                    [](const pollfd& one) { return one.fd >= 0; });
    if (!is_any) return true;
    if (poll(opened.data(), count, static_cast<int>(left_ms)) <= 0 && left_ms == 0) return false;
    // A descriptor of a process is readable when that has ended; poll passes over negative ones.
    for (std::size_t i = 0; i < count; ++i) {
      if (opened[i].revents != 0) opened[i].fd = -1;
    }
  }
}

[[noreturn]] void watch(const std::array<int, most_processes>& processes, std::size_t count,
                        std::int64_t patience_ms) {
  setsid();
  constexpr int most_closed = 4096;  // where the kernel has no call for all
  if (syscall(SYS_close_range, 0U, ~0U, 0U) != 0) {
    for (int i = 0; i < most_closed; ++i) close(i);
  }
  std::array<pollfd, most_processes> opened{};
  for (std::size_t i = 0; i < count; ++i) opened[i] = {.fd = open_process(processes[i]), .events = POLLIN};
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (are_gone(opened, count, patience_ms)) break;
    for (std::size_t i = 0; i < count; ++i) {
      if (opened[i].fd >= 0) syscall(SYS_pidfd_send_signal, opened[i].fd, signal, nullptr, 0);
    }
  }
  _exit(0);
}

}  // namespace

void end_later(const std::vector<int>& processes, std::chrono::milliseconds patience) {
  std::array<int, most_processes> ids{};
  const std::size_t count = std::min(processes.size(), most_processes);
  std::copy_n(processes.begin(), count, ids.begin());
  if (count == 0) return;
  // Without the MPI's handlers of fork().
  if (_Fork() == 0) watch(ids, count, patience.count());
}

}  // namespace unisono::runtime
