// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/peer_memory.h"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <fstream>

namespace unisono::shm {

bool read_process(int process_id, std::uint64_t address, void* into, std::size_t bytes) {
  auto* to = static_cast<char*>(into);
  while (bytes != 0) {
    const iovec local = {.iov_base = to, .iov_len = bytes};
    const iovec remote = {.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
    const ssize_t got = process_vm_readv(process_id, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    // The kernel may stop early, at most 2 GiB at a time and at the end of a mapping.
    to += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void ReadPermission::grant() {
  constexpr int only_descendants = 1;
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope == only_descendants) is_granted_ = prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) == 0;
}

ReadPermission::~ReadPermission() {
  if (is_granted_) prctl(PR_SET_PTRACER, 0, 0, 0, 0);
}

}  // namespace unisono::shm
