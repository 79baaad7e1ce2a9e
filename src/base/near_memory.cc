// SPDX-License-Identifier: BSD-3-Clause
#include "base/near_memory.h"

#include <dirent.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "base/core_list.h"
#include "base/pages.h"

namespace unisono {
int own_numa_domain(const std::string& nodes) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return -1;
  DIR* const folder = opendir(nodes.c_str());
  if (folder == nullptr) return -1;
  int domains = 0, own = -1;
  while (const dirent* entry = readdir(folder)) {
    int number = 0, length = 0;
    if (std::sscanf(entry->d_name, "node%d%n", &number, &length) != 1 || entry->d_name[length] != 0) continue;
    ++domains;
    std::string list;
    std::ifstream file(nodes + "/" + entry->d_name + "/cpulist");
    cpu_set_t cores, both;
    if (!std::getline(file, list) || unisono_read_core_list(list.c_str(), &cores) < 0) continue;
    CPU_AND(&both, &cores, &usable);
    if (CPU_EQUAL(&both, &usable)) own = number;
  }
  closedir(folder);
  return domains > 1 ? own : -1;
}

bool prefer_numa_domain(void* memory, std::size_t bytes, int domain) {
  constexpr std::size_t word_bits = CHAR_BIT * sizeof(unsigned long), words = 16;
  if (domain < 0 || static_cast<std::size_t>(domain) >= words * word_bits) return false;
  std::array<unsigned long, words> mask{};
  mask[static_cast<std::size_t>(domain) / word_bits] = 1UL << static_cast<std::size_t>(domain) % word_bits;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page_bytes - 1) / page_bytes * page_bytes;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page_bytes * page_bytes;
  if (begin >= end) return true;
  return syscall(SYS_mbind, begin, end - begin, MPOL_PREFERRED, mask.data(), words * word_bits, 0) == 0;
}

}  // namespace unisono
