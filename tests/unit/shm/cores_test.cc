// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/cores.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace unisono::shm {
namespace {

// A tree of files as /proc and /sys show them.
class Tree {
 public:
  Tree() {
    std::string pattern = std::filesystem::temp_directory_path() / "unisono_cores_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void link(const std::string& path, const std::string& to) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove(file);
    std::filesystem::create_symlink(to, file);
  }
  std::uint32_t millicores() const { return cpu_quota(root_).millicores; }
  std::uint64_t group() const { return cpu_quota(root_).group; }
  std::uint64_t session() const { return session_group(root_); }

 private:
  std::string root_;
};

constexpr auto mount_version_2 =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(CpuQuota, is_none_where_nothing_is_limited_or_readable) {
  const Tree tree;
  EXPECT_EQ(tree.millicores(), 0U);
  tree.write("/proc/self/mountinfo", mount_version_2);
  tree.write("/proc/self/cgroup", "0::/user/job\n");
  EXPECT_EQ(tree.millicores(), 0U);
  tree.write("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(tree.millicores(), 0U);
}

TEST(CpuQuota, version_2_takes_the_tightest_on_the_way_up) {
  const Tree tree;
  tree.write("/proc/self/mountinfo", std::string("22 1 0:5 / /proc rw - proc proc rw\n") + mount_version_2);
  tree.write("/proc/self/cgroup", "0::/user/job/step\n");
  tree.write("/sys/fs/cgroup/user/job/step/cpu.max", "max 100000\n");
  tree.write("/sys/fs/cgroup/user/job/cpu.max", "250000 100000\n");
  EXPECT_EQ(tree.millicores(), 2500U);
  const std::uint64_t job = tree.group();
  tree.write("/sys/fs/cgroup/user/cpu.max", "400000 100000\n");
  EXPECT_EQ(tree.millicores(), 2500U);
  EXPECT_EQ(tree.group(), job);
  tree.write("/sys/fs/cgroup/user/cpu.max", "75000 50000\n");
  EXPECT_EQ(tree.millicores(), 1500U);
  EXPECT_NE(tree.group(), job);
}

TEST(CpuQuota, version_1_and_both_versions_side_by_side) {
  const Tree tree;
  tree.write("/proc/self/mountinfo",
             "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
             "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "38 31 0:41 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  tree.write("/proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/job\n0::/job\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.millicores(), 0U);
  tree.write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "320000\n");
  EXPECT_EQ(tree.millicores(), 3200U);
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.millicores(), 1000U);
}

// In a container the mount shows the container's own cgroup as its root.
TEST(CpuQuota, a_mount_that_shows_a_part_only) {
  const Tree tree;
  tree.write("/proc/self/mountinfo", "31 23 0:28 /box/17 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  tree.write("/proc/self/cgroup", "0::/box/17/inner\n");
  tree.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(tree.millicores(), 500U);
  tree.write("/sys/fs/cgroup/inner/cpu.max", "20000 100000\n");
  EXPECT_EQ(tree.millicores(), 200U);
  tree.write("/proc/self/cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(tree.millicores(), 500U);
}

TEST(SessionGroup, is_one_where_sessions_are_scheduled_and_no_control_group_is) {
  const Tree tree;
  EXPECT_EQ(tree.session(), 0U);
  tree.write("/proc/self/autogroup", "/autogroup-26348 nice 0\n");
  tree.write("/proc/self/cgroup", "5:cpuset:/other\n0::/\n");
  EXPECT_EQ(tree.session(), 0U);
  tree.write("/proc/sys/kernel/sched_autogroup_enabled", "0\n");
  EXPECT_EQ(tree.session(), 0U);
  tree.write("/proc/sys/kernel/sched_autogroup_enabled", "1\n");
  EXPECT_EQ(tree.session(), 26348U);
  // In a namespace of its own a container sees its control group as the root.
  tree.link("/proc/self/ns/cgroup", "cgroup:[4026532000]");
  EXPECT_EQ(tree.session(), 0U);
  tree.link("/proc/self/ns/cgroup", "cgroup:[4026531835]");
  EXPECT_EQ(tree.session(), 26348U);
  // A control group says when its processes run where it is one of the CPU controller's.
  tree.write("/proc/self/cgroup", "0::/job\n");
  EXPECT_EQ(tree.session(), 26348U);
  tree.write("/sys/fs/cgroup/cgroup.subtree_control", "memory cpu\n");
  EXPECT_EQ(tree.session(), 0U);
  tree.write("/proc/self/cgroup", "4:cpu,cpuacct:/\n0::/job\n");
  EXPECT_EQ(tree.session(), 26348U);
  tree.write("/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/\n");
  EXPECT_EQ(tree.session(), 0U);
}

TEST(Affinity, holds_at_least_one_core) {
  EXPECT_GE(count(own_affinity()), 1);
  CoreMask mask{};
  EXPECT_EQ(count(mask), 0);
  mask[0] = 5;
  mask[63] = 1;
  EXPECT_EQ(count(mask), 3);
}

TEST(CoreShares, nodes_of_one_set_share_its_cores) {
  // 2 nodes of 2 on 4 cores of one machine, and one of 3 on 2 cores of another.
  const NodeCores one{.usable = 4, .in_set = 4, .set = 1}, other{.usable = 2, .in_set = 2, .set = 2};
  const std::vector<CoreShare> shares =
      core_shares({one, one, one, one, other, other, other}, {0, 0, 1, 1, 2, 2, 2});
  EXPECT_EQ(shares[0].cores, 2);
  EXPECT_FALSE(shares[3].is_crowded);
  EXPECT_EQ(shares[4].cores, 2);
  EXPECT_TRUE(shares[4].is_crowded);
  EXPECT_EQ(shares[0].of_all, 4);
  EXPECT_EQ(shares[0].nodes, 2);
  EXPECT_EQ(shares[4].of_all, 2);
  EXPECT_EQ(shares[4].nodes, 1);
  EXPECT_FALSE(shares[0].has_groups);
  // One rank more than cores; the larger node has more of them.
  const std::vector<CoreShare> more = core_shares({one, one, one, one, one}, {0, 0, 0, 0, 1});
  EXPECT_TRUE(more[0].is_crowded && more[4].is_crowded);
  EXPECT_EQ(more[0].cores, 3);
  EXPECT_EQ(more[4].cores, 1);
}

TEST(CoreShares, ranks_of_one_set_are_in_one_group_or_in_several) {
  const NodeCores one{.usable = 2, .in_set = 2, .set = 1, .group = 7};
  const NodeCores another{.usable = 2, .in_set = 2, .set = 1, .group = 8};
  const NodeCores elsewhere{.usable = 2, .in_set = 2, .set = 2, .group = 9};
  EXPECT_FALSE(core_shares({one, one, elsewhere}, {0, 0, 1})[0].has_groups);
  const std::vector<CoreShare> shares = core_shares({one, elsewhere, another}, {0, 1, 2});
  EXPECT_TRUE(shares[0].has_groups && shares[2].has_groups);
  EXPECT_FALSE(shares[1].has_groups);
}

TEST(CoreShares, quotas_add_up_to_the_set_at_most) {
  const NodeCores small{.usable = 1, .in_set = 8, .set = 1}, large{.usable = 6, .in_set = 8, .set = 1};
  std::vector<CoreShare> shares = core_shares({small, small, small}, {0, 1, 2});
  EXPECT_FALSE(shares[0].is_crowded);
  EXPECT_EQ(shares[0].cores, 1);
  shares = core_shares({large, large}, {0, 1});
  EXPECT_EQ(shares[0].cores, 4);
}

}  // namespace
}  // namespace unisono::shm
