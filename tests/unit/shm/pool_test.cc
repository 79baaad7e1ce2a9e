// SPDX-License-Identifier: BSD-3-Clause
// Rank counts: 1, 2, 5, 8 as threads of the fake host; 4 as processes in namespaces of their own.
#include "shm/pool/pool.h"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "fake_host/fake_host.h"
#include "process_host.h"
#include "shm/pool/limits.h"

namespace unisono::shm {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// Names of ours in /dev/shm.
std::set<std::string> leftovers() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("unisono-")) names.insert(name);
  }
  return names;
}

std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

std::int64_t tell_offset(host::Host& host, host::Comm comm, int rank, std::int64_t offset) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(host.comm_size(comm)));
  host.allgather_bytes(&offset, sizeof offset, all.data(), comm);
  return all[static_cast<std::size_t>(rank)];
}

// What the last rank of a node writes, all ranks of the node read.
void expect_shared(host::Host& host, host::Comm comm, Pool& pool) {
  const auto rank = host.comm_rank(comm);
  const auto& labels = pool.node_labels();
  int last = rank;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] == labels[static_cast<std::size_t>(rank)]) last = static_cast<int>(r);
  }
  ASSERT_TRUE(pool.is_available());
  std::vector<std::int64_t> offsets(labels.size());
  const std::int64_t mine = rank == last ? pool.allocate(10'000) : -1;
  host.allgather_bytes(&mine, sizeof mine, offsets.data(), comm);
  const std::int64_t offset = offsets[static_cast<std::size_t>(last)];
  ASSERT_GE(offset, 0);
  auto* word = static_cast<std::atomic<int>*>(pool.address(offset));
  if (rank == last) word->store(1000 + last);
  host.barrier(comm);
  EXPECT_EQ(word->load(), 1000 + last);
  host.barrier(comm);
  if (rank == last) pool.release(offset);
  host.barrier(comm);
}

// The ranks tell each other who they are, and open one.
std::unique_ptr<Pool> make_pool(host::Host& host, host::Comm comm, const PoolOptions& options) {
  auto pool = std::make_unique<Pool>();
  const Identity own = pool->own_identity();
  std::vector<Identity> of_all(static_cast<std::size_t>(host.comm_size(comm)));
  EXPECT_EQ(host.allgather_bytes(&own, sizeof own, of_all.data(), comm), host::success);
  pool->open(host, comm, std::move(of_all), options);
  return pool;
}

class PoolOfThreads : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  int size_ = std::get<0>(GetParam());
  PoolOptions options_{.capacity_bytes = 8 * mib, .use_memfd = std::get<1>(GetParam())};
};

TEST_P(PoolOfThreads, shares_memory_on_one_node) {
  const std::set<std::string> before = leftovers();
  fake_host::FakeWorld world(size_);
  world.run([&](fake_host::FakeHost& host, int rank) {
    const host::Comm comm = host.world();
    const auto pool = make_pool(host, comm, options_);
    EXPECT_EQ(pool->node_labels(), std::vector<int>(static_cast<std::size_t>(size_), 0));
    EXPECT_TRUE(pool->is_available());
    EXPECT_EQ(pool->why_unavailable(), "");
    EXPECT_EQ(leftovers(), before);
    EXPECT_EQ(pool->process_ids(), std::vector<int>(static_cast<std::size_t>(size_), getpid()));
    EXPECT_EQ(pool->host_names().size(), static_cast<std::size_t>(size_));
    EXPECT_FALSE(pool->host_names().front().empty());
    EXPECT_GE(pool->cores()[static_cast<std::size_t>(rank)].cores, 1);
    expect_shared(host, comm, *pool);

    // Full, empty again, and always zero-filled.
    const std::int64_t large = rank == 0 ? pool->allocate(5 * mib) : -1;
    const std::int64_t offset = tell_offset(host, comm, 0, large);
    ASSERT_GE(offset, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->address(offset)) % 64, 0U);
    EXPECT_EQ(pool->allocate(5 * mib), -1);
    auto* bytes = static_cast<char*>(pool->address(offset));
    if (rank == size_ - 1) std::memset(bytes, 'x', 5 * mib);
    host.barrier(comm);
    EXPECT_EQ(bytes[5 * mib - 1], 'x');
    host.barrier(comm);
    if (rank == 0) {
      pool->release(offset);
      EXPECT_EQ(pool->allocate(5 * mib), offset);
    }
    host.barrier(comm);
    EXPECT_EQ(std::count(bytes, bytes + 5 * mib, 0), static_cast<std::ptrdiff_t>(5 * mib));
    host.barrier(comm);
    EXPECT_EQ(pool->allocate(0), -1);
    EXPECT_EQ(pool->allocate(std::size_t{1} << 62), -1);
  });
  EXPECT_EQ(leftovers(), before);
}

INSTANTIATE_TEST_SUITE_P(Ranks, PoolOfThreads,
                         ::testing::Combine(::testing::Values(1, 2, 5, 8), ::testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_ranks_memfd" : "_ranks_named");
                         });

TEST(Pool, single_copy_is_what_the_options_say) {
  for (const bool is_wanted : {false, true}) {
    fake_host::FakeWorld world(2);
    world.run([&](fake_host::FakeHost& host, int) {
      const auto pool = make_pool(host, host.world(), {.capacity_bytes = mib, .use_single_copy = is_wanted});
      EXPECT_EQ(pool->has_single_copy(), is_wanted);  // a process may always read itself
    });
  }
}

// What a pool says about its node, in a process.
void expect_labels(ProcessHost& host, const std::vector<int>& labels, const PoolOptions& options) {
  const auto pool = make_pool(host, host::Comm{}, options);
  EXPECT_EQ(pool->node_labels(), labels);
  EXPECT_EQ(pool->why_unavailable(), "");
  expect_shared(host, host::Comm{}, *pool);
}

const PoolOptions small = {.capacity_bytes = 8 * mib};

TEST(PoolOfProcesses, one_node) {
  ASSERT_TRUE(run_containers({{.ranks = 4}}, [](ProcessHost& host, int) {
    expect_labels(host, {0, 0, 0, 0}, small);
    const auto pool = make_pool(host, host::Comm{}, small);
    std::set<int> ids(pool->process_ids().begin(), pool->process_ids().end());
    EXPECT_EQ(ids.size(), 4U);
    EXPECT_EQ(pool->process_ids()[static_cast<std::size_t>(host.comm_rank({}))], getpid());
  }));
}

TEST(PoolOfProcesses, nodes_with_process_numbers_and_files_of_their_own_stay_apart) {
  const auto own = [] { return make_mounts_private() && mount_own_proc() && mount_own_shm("size=64m"); };
  const Container node = {.ranks = 2, .namespaces = CLONE_NEWPID | CLONE_NEWNS, .prepare = own};
  if (!run_containers({node, node}, [](ProcessHost& host, int) {
        expect_labels(host, {0, 0, 2, 2}, small);
      })) {
    GTEST_SKIP() << "namespaces are not permitted here";
  }
}

TEST(PoolOfProcesses, containers_with_one_dev_shm_are_one_node_without_single_copy) {
  const auto own = [] { return make_mounts_private() && mount_own_proc(); };
  const Container node = {.ranks = 2, .namespaces = CLONE_NEWPID | CLONE_NEWNS, .prepare = own};
  const std::set<std::string> before = leftovers();
  const bool is_permitted = run_containers({node, node}, [](ProcessHost& host, int) {
    expect_labels(host, {0, 0, 0, 0}, small);
    // The same process numbers mean other processes in the other container.
    EXPECT_FALSE(make_pool(host, host::Comm{}, small)->has_single_copy());
  });
  EXPECT_EQ(leftovers(), before);
  if (!is_permitted) GTEST_SKIP() << "namespaces are not permitted here";
}

TEST(PoolOfProcesses, without_proc_the_segment_is_opened_by_name) {
  const auto own = [] { return make_mounts_private() && mount_own_shm("size=64m") && hide_proc(); };
  const Container node = {.ranks = 3, .namespaces = CLONE_NEWNS, .prepare = own};
  const bool is_permitted = run_containers({node}, [](ProcessHost& host, int) {
    expect_labels(host, {0, 0, 0}, small);
    EXPECT_EQ(leftovers(), std::set<std::string>{});
  });
  if (!is_permitted) GTEST_SKIP() << "namespaces are not permitted here";
}

TEST(PoolOfProcesses, a_full_dev_shm_leaves_every_rank_alone_and_says_so) {
  const auto own = [] { return make_mounts_private() && mount_own_shm("size=16k"); };
  const Container node = {.ranks = 3, .namespaces = CLONE_NEWNS, .prepare = own};
  const bool is_permitted = run_containers({node}, [](ProcessHost& host, int) {
    const auto pool = make_pool(host, host::Comm{}, {.capacity_bytes = 8 * mib, .use_memfd = false});
    EXPECT_EQ(pool->node_labels(), (std::vector<int>{0, 1, 2}));
    EXPECT_NE(pool->why_unavailable().find("/dev/shm is full"), std::string::npos) << pool->why_unavailable();
    expect_shared(host, host::Comm{}, *pool);
    EXPECT_EQ(leftovers(), std::set<std::string>{});
  });
  if (!is_permitted) GTEST_SKIP() << "namespaces are not permitted here";
}

TEST(PoolOfProcesses, a_dev_shm_that_fills_up_ends_allocation_only) {
  const auto own = [] { return make_mounts_private() && mount_own_shm("size=2m"); };
  const Container node = {.ranks = 2, .namespaces = CLONE_NEWNS, .prepare = own};
  const bool is_permitted = run_containers({node}, [](ProcessHost& host, int rank) {
    const auto pool = make_pool(host, host::Comm{}, {.capacity_bytes = 8 * mib, .use_memfd = false});
    EXPECT_EQ(pool->node_labels(), (std::vector<int>{0, 0}));
    if (rank == 0) {
      EXPECT_EQ(pool->allocate(4 * mib), -1);
      const std::int64_t offset = pool->allocate(mib);
      EXPECT_GE(offset, 0);
      EXPECT_EQ(pool->allocate(mib), -1);
      pool->release(offset);
      EXPECT_GE(pool->allocate(mib), 0);
    }
    host.barrier({});
  });
  if (!is_permitted) GTEST_SKIP() << "namespaces are not permitted here";
}

TEST(PoolOfProcesses, a_limit_on_file_sizes_makes_the_pool_smaller) {
  ASSERT_TRUE(run_containers({{.ranks = 2}}, [](ProcessHost& host, int) {
    const rlimit limit = {.rlim_cur = mib, .rlim_max = mib};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto pool = make_pool(host, host::Comm{}, small);
    EXPECT_EQ(pool->node_labels(), (std::vector<int>{0, 0}));
    EXPECT_EQ(pool->allocate(2 * mib), -1);
    expect_shared(host, host::Comm{}, *pool);
  }));
}

TEST(PoolOfProcesses, it_is_mapped_as_it_is_used) {
  for (const bool use_memfd : {true, false}) {
    const PoolOptions large = {.capacity_bytes = 128 * mib, .use_memfd = use_memfd};
    ASSERT_TRUE(run_containers({{.ranks = 2}}, [&](ProcessHost& host, int rank) {
      const std::size_t before = address_space();
      const auto pool = make_pool(host, host::Comm{}, large);
      EXPECT_LT(address_space() - before, 64 * mib);
      std::vector<std::int64_t> taken;
      for (int i = 0; i < 9; ++i) {
        if (rank == 0) taken.push_back(pool->allocate(10 * mib));
        const std::int64_t offset = tell_offset(host, {}, 0, rank == 0 ? taken.back() : -1);
        ASSERT_GE(offset, 0) << i;
        auto* word = static_cast<std::atomic<int>*>(pool->address(offset + 9 * static_cast<int>(mib)));
        if (rank == 1) word->store(i + 1);
        host.barrier({});
        EXPECT_EQ(word->load(), i + 1);
        host.barrier({});
      }
      for (const std::int64_t offset : taken) pool->release(offset);
      host.barrier({});
      expect_shared(host, {}, *pool);
    }));
  }
}

TEST(PoolOfProcesses, the_least_limit_on_address_space_decides_for_all) {
  ASSERT_TRUE(run_containers({{.ranks = 2}}, [](ProcessHost& host, int rank) {
    const rlim_t bytes = address_space() + 64 * mib;
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    if (rank == 1) setrlimit(RLIMIT_AS, &limit);
    const auto pool = make_pool(host, host::Comm{}, {.capacity_bytes = 128 * mib});
    EXPECT_EQ(pool->node_labels(), (std::vector<int>{0, 0}));
    EXPECT_EQ(pool->allocate(9 * mib), -1);
    EXPECT_NE(pool->limited_by().find("ulimit -v"), std::string::npos) << pool->limited_by();
    expect_shared(host, host::Comm{}, *pool);
  }));
}

TEST(Pool, cgroups_say_how_much_memory_there_is) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("unisono_pool_test." + std::to_string(getpid()));
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  write("proc/self/cgroup", "0::/batch/job\n");
  EXPECT_EQ(cgroup_memory(root), no_limit);
  write("sys/fs/cgroup/batch/memory.max", "8589934592\n");
  write("sys/fs/cgroup/batch/job/memory.max", "max\n");
  EXPECT_EQ(cgroup_memory(root), 8589934592U);
  write("proc/self/cgroup", "4:memory:/batch/job\n0::/batch/job\n");
  write("sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "1048576\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cgroup_memory(root), 1048576U);
  fs::remove_all(root);
}

TEST(PoolOfProcesses, without_descriptors_every_rank_is_alone_and_says_so) {
  ASSERT_TRUE(run_containers({{.ranks = 2}}, [](ProcessHost& host, int) {
    rlimit none{};
    getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    const auto pool = make_pool(host, host::Comm{}, small);
    EXPECT_EQ(pool->node_labels(), (std::vector<int>{0, 1}));
    EXPECT_NE(pool->why_unavailable().find("Too many open files"), std::string::npos)
        << pool->why_unavailable();
    expect_shared(host, host::Comm{}, *pool);
  }));
}

TEST(PoolOfProcesses, reasons_of_another_rank_are_whole) {
  ASSERT_TRUE(run_containers({{.ranks = 2}}, [](ProcessHost& host, int) {
    const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    const std::string why = make_pool(host, host::Comm{}, small)->why_unavailable();
    EXPECT_TRUE(why.ends_with(": the limit on file sizes (ulimit -f) is too small")) << why;
  }));
}

TEST(PoolOfProcesses, cores_are_the_union_of_what_the_ranks_may_use) {
  ASSERT_TRUE(run_containers({{.ranks = 3}}, [](ProcessHost& host, int rank) {
    cpu_set_t all;
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &all)) cores.push_back(core);
    }
    // Ranks 0 and 1 on the first core, rank 2 on the last.
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(rank == 2 ? cores.back() : cores.front(), &mine);
    ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
    const auto pool = make_pool(host, host::Comm{}, small);
    EXPECT_EQ(pool->cores()[static_cast<std::size_t>(rank)].cores, cores.size() > 1 ? 2 : 1);
  }));
}

TEST(PoolOfProcesses, containers_of_one_machine_share_its_cores) {
  const auto own = [] { return make_mounts_private() && mount_own_proc() && mount_own_shm("size=64m"); };
  const auto node = [&](int ranks) {
    return Container{.ranks = ranks, .namespaces = CLONE_NEWPID | CLONE_NEWNS, .prepare = own};
  };
  const int cores = count(own_affinity());
  if (!run_containers({node(cores), node(1)}, [&](ProcessHost& host, int) {
        const auto pool = make_pool(host, host::Comm{}, small);
        EXPECT_NE(pool->node_labels().front(), pool->node_labels().back());
        for (const CoreShare& share : pool->cores()) EXPECT_TRUE(share.is_crowded);
        EXPECT_EQ(pool->cores().back().cores, 1);
      })) {
    GTEST_SKIP() << "namespaces are not permitted here";
  }
}

// A rank that dies leaves nothing, whatever the others are about to do.
TEST(PoolOfProcesses, a_killed_rank_leaves_no_file) {
  const std::set<std::string> before = leftovers();
  for (const bool use_memfd : {true, false}) {
    const SharedMemory memory(sizeof(MeetingPlace));
    auto* place = static_cast<MeetingPlace*>(memory.get());
    std::array<pid_t, 2> ranks{};
    for (int rank = 0; rank < 2; ++rank) {
      ranks[static_cast<std::size_t>(rank)] = fork();
      if (ranks[static_cast<std::size_t>(rank)] == 0) {
        ProcessHost host(place, rank, 2);
        const auto pool = make_pool(host, {}, {.capacity_bytes = 8 * mib, .use_memfd = use_memfd});
        if (rank == 0) pool->allocate(mib);
        kill(getpid(), SIGKILL);
      }
    }
    for (const pid_t rank : ranks) {
      int status = 0;
      waitpid(rank, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status));
    }
    EXPECT_EQ(leftovers(), before);
  }
}

}  // namespace
}  // namespace unisono::shm
