// SPDX-License-Identifier: BSD-3-Clause
#include "base/near_memory.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/pages.h"

namespace unisono {
namespace {

// A system's folder of NUMA domains, by number the cores of each.
int own_of(const std::map<std::string, std::string>& cores_of) {
  char name[] = "/tmp/near_memory_XXXXXX";
  const std::filesystem::path folder = mkdtemp(name);
  for (const auto& [domain, cores] : cores_of) {
    std::filesystem::create_directory(folder / domain);
    std::ofstream(folder / domain / "cpulist") << cores << '\n';
  }
  const int own = own_numa_domain(folder);
  std::filesystem::remove_all(folder);
  return own;
}

TEST(NearMemory, TheDomainThatHoldsAllCoresOfTheThreadIsItsOwn) {
  EXPECT_EQ(own_of({{"node0", "5000-5001"}, {"node3", "0-4095"}}), 3);
  EXPECT_EQ(own_of({{"node0", "0-1023"}, {"node1", ""}, {"has_cpu", "1"}}), 0);
  EXPECT_EQ(own_of({{"node0", "0-4095"}}), -1) << "there is no other one";
  EXPECT_EQ(own_of({{"node0", "cores"}, {"node1", "4-2"}}), -1) << "no lists";
  EXPECT_EQ(own_of({}), -1);
  EXPECT_EQ(own_numa_domain("/nowhere"), -1);
}

TEST(NearMemory, AThreadOfSeveralDomainsHasNone) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  if (CPU_COUNT(&usable) < 2) GTEST_SKIP() << "one core is in one domain";
  int first = 0;
  while (!CPU_ISSET(first, &usable)) ++first;
  const std::string others = std::to_string(first + 1) + "-4095";
  EXPECT_EQ(own_of({{"node0", "0-" + std::to_string(first)}, {"node1", others}}), -1);
}

TEST(NearMemory, TheKernelKnowsWhereWholePagesAreToLie) {
  constexpr std::size_t pages = 4;
  void* const memory =
      mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const begin = static_cast<char*>(memory);
  if (!prefer_numa_domain(begin + 1, 3 * page_bytes, 0)) GTEST_SKIP() << "the kernel lets nobody say so";
  const auto policy_of = [&](std::size_t page) {
    int mode = -1;
    unsigned long domains[16] = {};
    EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, domains, 1024UL, begin + page * page_bytes, MPOL_F_ADDR), 0);
    return mode == MPOL_PREFERRED && domains[0] == 1;
  };
  EXPECT_FALSE(policy_of(0)) << "a part of a page";
  EXPECT_TRUE(policy_of(1));
  EXPECT_TRUE(policy_of(2));
  EXPECT_FALSE(policy_of(3)) << "a part of a page";
  EXPECT_TRUE(prefer_numa_domain(begin + 1, page_bytes, 0)) << "no page is whole";
  EXPECT_FALSE(prefer_numa_domain(begin, page_bytes, 5000));
  munmap(memory, pages * page_bytes);
}

}  // namespace
}  // namespace unisono
