// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/members.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace unisono::shm {
namespace {

std::uint64_t own_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

struct Vital {
  char state = 0;
  long threads = 0;
  std::uint64_t start_time = 0;
};

// Without memory of its own: waits call it. It reads the file of the process's first thread, which says what
// /proc/ID/stat does. That one is made up by emulators of processors for the process itself, with another
// start.
bool read_vital(int process_id, Vital* vital) {
  char text[1024];
  std::snprintf(text, sizeof text, "/proc/%d/task/%d/stat", process_id, process_id);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* name_end = std::strrchr(text, ')');  // the program's name may hold anything
  if (name_end == nullptr) return false;
  unsigned long long start_time = 0;
  const int found = std::sscanf(
      name_end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
      &vital->state, &vital->threads, &start_time);
  vital->start_time = start_time;
  return found == 3;
}

}  // namespace

void Members::enter(std::uint32_t number, int rank) {
  if (number >= most) return;
  Vital vital;
  if (!read_vital(getpid(), &vital)) return;
  Member& own = members_[number];
  own.rank.store(rank, std::memory_order_relaxed);
  own.namespace_id.store(own_namespace(), std::memory_order_relaxed);
  own.start_time.store(vital.start_time, std::memory_order_relaxed);
  own.process_id.store(getpid(), std::memory_order_release);
}

void Members::leave() {
  const std::uint64_t here = own_namespace();
  const int process_id = getpid();
  for (Member& member : members_) {
    if (member.process_id.load(std::memory_order_relaxed) == process_id &&
        member.namespace_id.load(std::memory_order_relaxed) == here)
      member.has_left.store(1, std::memory_order_release);
  }
}

const Member* Members::find(int rank) const {
  for (const Member& member : members_) {
    if (member.process_id.load(std::memory_order_acquire) != 0 &&
        member.rank.load(std::memory_order_relaxed) == rank)
      return &member;
  }
  return nullptr;
}

int Members::process_id(int rank) const {
  const Member* member = find(rank);
  return member == nullptr ? 0 : member->process_id.load(std::memory_order_relaxed);
}

bool Members::has_died(int rank) const {
  const Member* member = find(rank);
  if (member == nullptr || member->namespace_id.load(std::memory_order_relaxed) != own_namespace())
    return false;
  const int id = member->process_id.load(std::memory_order_relaxed);
  Vital vital;
  bool is_dead = false;
  if (kill(id, 0) != 0 && errno == ESRCH) {
    is_dead = true;
  } else if (read_vital(id, &vital)) {
    // The first thread of a process may be over while others run.
    const bool is_over = (vital.state == 'Z' || vital.state == 'X') && vital.threads <= 1;
    is_dead = is_over || vital.start_time != member->start_time.load(std::memory_order_relaxed);
  }
  // Looked at last: it leaves before it ends.
  return is_dead && member->has_left.load(std::memory_order_acquire) == 0;
}

}  // namespace unisono::shm
