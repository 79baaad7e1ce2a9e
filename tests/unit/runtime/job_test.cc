// SPDX-License-Identifier: BSD-3-Clause
// Whole calls, from MPI-like arguments to results, with every algorithm of the registry. Ranks are threads
// over the fake host. They share the memory of one process as the ranks of a node do.
#include "runtime/job.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <vector>

#include "../case_turns.h"
#include "job_cases.h"
#include "program.h"

namespace unisono::runtime::job_test {
namespace {

class JobTest : public ProgramTest {
 protected:
  // One operation on all ranks; gives how many ranks' calls were taken (all or none).
  int check(
      const Setting& s, Operation operation, int root,
      const std::function<void(int rank)>& once_set_up = [](int) {}) {
    if (!s.nodes.empty()) options_.nodes = s.nodes;
    if (!s.algorithm.empty()) options_.algorithm = s.algorithm;
    return check_all({{s, operation, root}}, once_set_up).front();
  }

  // One after the other in one job on so many ranks as the first has: to start a job takes longer than its
  // calls. Gives for each how many ranks' calls were taken.
  std::vector<int> check_all(
      const std::vector<Calls>& all, const std::function<void(int rank)>& once_set_up = [](int) {}) {
    const int size = all.front().setting.size;
    std::vector<std::atomic<int>> taken(all.size());
    FakeWorld world(size);
    const host::Datatype gaps = world.gapped_int32();
    const host::Datatype dense = world.add_type({{0, 8}}, 8);
    host::Op ops[2][2];
    for (const bool has_gaps : {false, true}) {
      for (const bool is_commutative : {false, true}) {
        ops[has_gaps][is_commutative] = world.add_op(
            [=](const void* in, void* inout, std::size_t count, host::Datatype) {
              const std::size_t stride = has_gaps ? 16 : 8, second = has_gaps ? 8 : 4;
              for (std::size_t i = 0; i < count; ++i) {
                Pair l, r;
                const char* left = static_cast<const char*>(in) + i * stride;
                char* right = static_cast<char*>(inout) + i * stride;
                std::memcpy(&l.a, left, 4), std::memcpy(&l.b, left + second, 4);
                std::memcpy(&r.a, right, 4), std::memcpy(&r.b, right + second, 4);
                const Pair v = is_commutative ? add(l, r) : compose(l, r);
                std::memcpy(right, &v.a, 4), std::memcpy(right + second, &v.b, 4);
              }
            },
            is_commutative);
      }
    }
    // With a thread of ours the host makes them that have the program's operators.
    if (!all.front().setting.is_blocking) options_.progress = "calls";
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      once_set_up(rank);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [s, operation, root] = all[i];
        for (int repeat = 0; repeat < 3; ++repeat)
          taken[i] += run_once(job, host, s, operation, (root + repeat) % size, rank,
                               s.has_gaps ? gaps : dense, ops[s.has_gaps][s.is_commutative]);
      }
    });
    EXPECT_EQ(world.leftovers(), "") << print(all.front().setting);
    return {taken.begin(), taken.end()};
  }

  // As run_once, for uneven blocks that lie in the order of the ranks, or the other way round with gaps.
  static bool run_blocks_once(Job& job, FakeHost& host, const Setting& s, Operation operation, int root,
                              int rank, host::Datatype type, host::Op op) {
    const bool is_root = rank == root;
    const bool is_alltoall = is_uneven_alltoall(operation);
    const bool is_gather = operation == Operation::allgatherv || operation == Operation::gatherv;
    const bool is_reducing = operation == Operation::reduce_scatter;
    const bool is_in_place = s.is_in_place && (is_root || !is_rooted(operation));
    const auto length = [&](int from, int to) -> int {
      if (is_gather) to = from;
      if (operation == Operation::scatterv || is_reducing) from = to;
      return static_cast<int>(s.count) * ((from + to) % 3);  // the same in both directions
    };
    // How many elements come before a rank's own in a scattered reduction.
    const auto start = [&](int to) {
      std::size_t before = 0;
      for (int other = 0; other < to; ++other) before += static_cast<std::size_t>(length(0, other));
      return before;
    };
    const auto element = [&](int from, int to, int i) {
      if (is_reducing) return value(from, start(to) + static_cast<std::size_t>(i));
      return value(from,
                   static_cast<std::size_t>(is_gather ? 0 : to) * s.count * 3 + static_cast<std::size_t>(i));
    };
    struct Blocks {
      std::vector<int> counts, places;
      int room = 0;
    };
    const auto all = [&](bool is_sending) {
      Blocks blocks;
      blocks.places.resize(static_cast<std::size_t>(s.size));
      for (int i = 0; i < s.size; ++i)
        blocks.counts.push_back(is_sending ? length(rank, i) : length(i, rank));
      const bool is_scattered = !is_reducing && root % 2 == 1;
      for (int i = 0; i < s.size; ++i) {
        const int block = is_scattered ? s.size - 1 - i : i;
        blocks.places[block] = blocks.room;
        blocks.room += blocks.counts[block] + (is_scattered ? 2 : 0);
      }
      return blocks;
    };
    const auto write = [&](Buffer* to, const Blocks& blocks, int block, int as_block) {
      for (int i = 0; i < blocks.counts[block]; ++i) {
        to->set(static_cast<std::size_t>(blocks.places[block] + i), element(rank, as_block, i));
      }
    };
    const Blocks sent = all(true), received = all(false);
    const int own = is_gather ? length(rank, 0) : length(root, rank);
    Buffer in(static_cast<std::size_t>(std::max(sent.room, own)), s.has_gaps);
    Buffer out(static_cast<std::size_t>(std::max({received.room, own, is_reducing ? sent.room : 0})),
               s.has_gaps);
    Call call{
        .operation = operation, .is_in_place = is_in_place, .root = root, .comm = host.world(), .op = op};
    const auto one = [&](Buffer* buffer, int count) {
      return BlockArguments{.buffer = buffer->data(), .count = static_cast<std::size_t>(count), .type = type};
    };
    const auto many = [&](Buffer* buffer, const Blocks& blocks) {
      return BlockArguments{.buffer = buffer->data(),
                            .counts = blocks.counts.data(),
                            .displacements = blocks.places.data(),
                            .type = type};
    };
    if (is_gather) {
      if (is_in_place) write(&out, received, rank, 0);
      for (int i = 0; i < own; ++i) in.set(static_cast<std::size_t>(i), element(rank, 0, i));
      if (!is_in_place) call.send_blocks = one(&in, own);
      if (is_root || operation == Operation::allgatherv) call.recv_blocks = many(&out, received);
    } else if (operation == Operation::scatterv) {
      for (int to = 0; to < s.size; ++to) write(&in, sent, to, to);
      if (is_root) call.send_blocks = many(&in, sent);
      if (!is_in_place) call.recv_blocks = one(&out, own);
    } else {
      Buffer* from = is_in_place ? &out : &in;
      for (int to = 0; to < s.size; ++to) write(from, is_in_place && is_alltoall ? received : sent, to, to);
      if (!is_in_place || is_reducing) call.send_blocks = many(from, sent);
      if (is_reducing) call.send_blocks.displacements = nullptr;
      call.recv_blocks = is_reducing ? one(&out, own) : many(&out, received);
    }
    const std::vector<int> stride(static_cast<std::size_t>(s.size), s.has_gaps ? 16 : 8);
    const std::vector<host::Datatype> types(static_cast<std::size_t>(s.size), type);
    Blocks in_bytes[2] = {sent, received};
    if (operation == Operation::alltoallw) {
      for (Blocks& blocks : in_bytes) {
        for (int i = 0; i < s.size; ++i) blocks.places[i] *= stride[0];
      }
      call.send_blocks.displacements = in_bytes[0].places.data();
      call.recv_blocks.displacements = in_bytes[1].places.data();
      call.send_blocks.types = call.recv_blocks.types = types.data();
    }
    int error = -1;
    const Outcome outcome = s.is_blocking ? job.collective(call, &error) : start_and_wait(job, call, &error);
    if (outcome != Outcome::done) return false;
    EXPECT_EQ(error, host::success);
    const auto expect = [&](std::size_t at, Pair wanted) {
      const Pair got = out.get(at);
      EXPECT_EQ(got, wanted) << name(operation) << " root " << root << " rank " << rank << " at " << at
                             << ": (" << got.a << ", " << got.b << ") is not (" << wanted.a << ", "
                             << wanted.b << "); " << print(s);
    };
    const bool gets_all = is_alltoall || operation == Operation::allgatherv || (is_gather && is_root);
    for (int from = 0; gets_all && from < s.size; ++from) {
      for (int i = 0; i < received.counts[from] && !HasFailure(); ++i) {
        expect(static_cast<std::size_t>(received.places[from] + i), element(from, rank, i));
      }
    }
    const bool gets_own = is_reducing || (operation == Operation::scatterv && !is_in_place);
    for (int i = 0; gets_own && i < own && !HasFailure(); ++i) {
      Pair wanted = element(is_reducing ? 0 : root, rank, i);
      for (int from = 1; is_reducing && from < s.size; ++from) {
        const Pair next = element(from, rank, i);
        wanted = s.is_commutative ? add(wanted, next) : compose(wanted, next);
      }
      expect(static_cast<std::size_t>(i), wanted);
    }
    return true;
  }

  static bool run_once(Job& job, FakeHost& host, const Setting& s, Operation operation, int root, int rank,
                       host::Datatype type, host::Op op) {
    if (has_uneven_blocks(operation)) return run_blocks_once(job, host, s, operation, root, rank, type, op);
    const std::size_t n = s.count;
    const auto size = static_cast<std::size_t>(s.size);
    const bool is_root = rank == root;
    Buffer in(n * size, s.has_gaps), out(n * size, s.has_gaps);
    Call call{.operation = operation,
              .root = root,
              .comm = host.world(),
              .send_buffer = in.data(),
              .recv_buffer = out.data(),
              .send_count = n,
              .recv_count = n,
              .send_type = type,
              .recv_type = type,
              .op = op};
    // element(r, b, i): element i of the block that rank r has for rank b.
    const auto element = [n](int r, std::size_t b, std::size_t i) { return value(r, b * n + i); };
    for (std::size_t b = 0; b < size; ++b) {
      for (std::size_t i = 0; i < n; ++i) in.set(b * n + i, element(rank, b, i));
    }
    std::vector<Pair> expected;
    const auto expect_block = [&](int r, std::size_t b) {
      for (std::size_t i = 0; i < n; ++i) expected.push_back(element(r, b, i));
    };
    // What the first `count` ranks have for rank b, joined.
    const auto expect_joined = [&](int count, std::size_t b) {
      for (std::size_t i = 0; i < n && count > 0; ++i) {
        Pair v = element(0, b, i);
        for (int r = 1; r < count; ++r)
          v = s.is_commutative ? add(v, element(r, b, i)) : compose(v, element(r, b, i));
        expected.push_back(v);
      }
    };
    const auto place_own = [&](std::size_t at, std::size_t b) {
      for (std::size_t i = 0; i < n; ++i) out.set(at * n + i, element(rank, b, i));
    };
    switch (operation) {
      case Operation::barrier:
        break;
      case Operation::bcast:
        call.recv_buffer = in.data();
        expect_block(root, 0);
        break;
      case Operation::reduce:
      case Operation::allreduce:
        call.is_in_place = s.is_in_place && (is_root || operation == Operation::allreduce);
        if (call.is_in_place) place_own(0, 0);
        if (is_root || operation == Operation::allreduce) expect_joined(s.size, 0);
        break;
      case Operation::scan:
      case Operation::exscan:
        call.is_in_place = s.is_in_place;
        if (call.is_in_place) place_own(0, 0);
        if (operation == Operation::exscan && rank == 0 && !s.is_in_place) call.recv_buffer = nullptr;
        expect_joined(rank + (operation == Operation::scan ? 1 : 0), 0);
        break;
      case Operation::reduce_scatter_block:
        call.is_in_place = s.is_in_place;
        for (std::size_t b = 0; b < size && call.is_in_place; ++b) place_own(b, b);
        expect_joined(s.size, static_cast<std::size_t>(rank));
        break;
      case Operation::gather:
        call.is_in_place = s.is_in_place && is_root;
        if (call.is_in_place) place_own(static_cast<std::size_t>(rank), 0);
        for (int r = 0; r < s.size && is_root; ++r) expect_block(r, 0);
        break;
      case Operation::scatter:
        call.is_in_place = s.is_in_place && is_root;
        if (!call.is_in_place) expect_block(root, static_cast<std::size_t>(rank));
        break;
      case Operation::allgather:
        call.is_in_place = s.is_in_place;
        if (call.is_in_place) place_own(static_cast<std::size_t>(rank), 0);
        for (int r = 0; r < s.size; ++r) expect_block(r, 0);
        break;
      case Operation::alltoall:
        call.is_in_place = s.is_in_place;
        for (std::size_t b = 0; b < size && call.is_in_place; ++b) place_own(b, b);
        for (int r = 0; r < s.size; ++r) expect_block(r, static_cast<std::size_t>(rank));
        break;
      default:
        return false;
    }
    if (call.is_in_place) call.send_buffer = nullptr;
    if (call.is_in_place && operation == Operation::scatter)
      call.send_buffer = in.data(), call.recv_buffer = nullptr;
    int error = -1;
    const Outcome outcome = s.is_blocking ? job.collective(call, &error) : start_and_wait(job, call, &error);
    if (outcome != Outcome::done) return false;
    EXPECT_EQ(error, host::success);
    const Buffer& result = operation == Operation::bcast ? in : out;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Pair got = result.get(i);
      if (got != expected[i]) {
        ADD_FAILURE() << name(operation) << " root " << root << " rank " << rank << " element " << i << ": ("
                      << got.a << ", " << got.b << ") is not (" << expected[i].a << ", " << expected[i].b
                      << "); " << print(s);
        break;
      }
    }
    return true;
  }
};

TEST_F(JobTest, TheRulesServeEveryOperation) {
  int runs = 0;
  for (int size : {2, 3, 5, 8}) {
    for (const std::string& nodes : layouts_of(size)) {
      for (const bool is_blocking : {true, false}) {
        std::vector<Calls> all;
        for (std::size_t count : {1, 7, 3000}) {
          for (int variant = 0; variant < 4; ++variant) {
            if (!case_turns().has(runs++)) continue;
            const Setting s{.size = size,
                            .nodes = nodes,
                            .count = count,
                            .is_in_place = (variant & 1) != 0,
                            .has_gaps = (variant & 2) != 0,
                            .is_commutative = variant != 3,
                            .is_blocking = is_blocking};
            for (int op = 0; op < operation_count; ++op)
              all.push_back({s, static_cast<Operation>(op), size - 1});
          }
        }
        if (all.empty()) continue;
        options_.nodes = nodes;
        const std::vector<int> taken = check_all(all);
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_TRUE(taken[i] == 0 || taken[i] == 3 * size)
              << "all ranks or none: " << taken[i] << "; " << name(all[i].operation) << ", "
              << print(all[i].setting);
        }
        options_ = quiet_options();
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(JobTest, EveryAlgorithmGivesTheRightResult) {
  int runs = 0;
  for (const std::vector<const algorithms::Descriptor*>& turn : in_turns()) {
    std::string chosen;
    for (const algorithms::Descriptor* d : turn)
      chosen += (chosen.empty() ? "" : ",") + std::string(name(d->operation)) + ":" + d->name;
    for (int size : {2, 3, 5, 8}) {
      for (const std::string& nodes : layouts_of(size)) {
        std::vector<Calls> all;
        for (const algorithms::Descriptor* d : turn) {
          for (std::size_t count : {1, 4, 1003}) {
            for (bool is_in_place : {false, true}) {
              if (!case_turns().has(runs++)) continue;
              const Setting s{.size = size,
                              .nodes = nodes,
                              .algorithm = std::string(name(d->operation)) + ":" + d->name,
                              .count = count,
                              .is_in_place = is_in_place,
                              .is_commutative = d->legality.needs_commutative};
              all.push_back({s, d->operation, 1});
            }
          }
        }
        if (all.empty()) continue;
        options_.nodes = nodes;
        options_.algorithm = chosen;
        check_all(all);
        options_ = quiet_options();
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(runs, 1000);
}

// From here on the kernel refuses this thread what single copies are made by.
void forbid_single_copies() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = std::size(filter), .filter = filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Blocks of 0, 1600 and 3200 bytes, where there is no room for streams: by the kernel where it copies them
// for all, for some ranks, for none.
TEST_F(JobTest, LongBlocksGoAsMessagesWhereTheKernelCopiesThemNot) {
  for (int op = 0; op < operation_count; ++op) {
    if (!has_uneven_blocks(static_cast<Operation>(op))) continue;
    const auto operation = static_cast<Operation>(op);
    for (int variant = 0; variant < 16; ++variant) {
      const bool refuses_later = (variant & 4) != 0;
      options_.channel_bytes = 4 << 20;  // all three take 12 MiB, streams would take 4
      options_.pool_bytes = 13 << 20;
      if (!refuses_later) options_.use_single_copy = false;
      const Setting s{.size = (variant & 8) != 0 ? 5 : 2,
                      .algorithm = std::string(name(operation)) + ":fused",
                      .count = 200,
                      .is_in_place = (variant & 1) != 0,
                      .has_gaps = (variant & 2) != 0};
      check(s, operation, 1, [=](int rank) {
        if (refuses_later && rank % 2 == 1) forbid_single_copies();
      });
      options_ = quiet_options();
      if (HasFailure()) return;
    }
  }
}

TEST_F(JobTest, ZeroCountsReturnAtOnce) {
  for (int op = 1; op < operation_count; ++op) {
    const auto operation = static_cast<Operation>(op);
    // Where a rank does not know whether the others have something to send, nobody may leave.
    if (has_uneven_blocks(operation) && !has_known_blocks(operation)) continue;
    EXPECT_EQ(check({.size = 3, .count = 0}, operation, 0), 9) << name(operation);
  }
}

TEST_F(JobTest, SwitchedOffEveryCallIsTheHosts) {
  options_.is_enabled = false;
  EXPECT_EQ(check({.size = 3}, Operation::allreduce, 0), 0);
}

TEST_F(JobTest, WithoutSharedMemoryMessagesServe) {
  options_.use_shared_memory = false;
  EXPECT_EQ(check({.size = 4}, Operation::allreduce, 0), 12);
}

TEST_F(JobTest, AFullPoolLeavesTheCallToTheHostOrToMessages) {
  options_.pool_bytes = 1 << 20;
  options_.channel_bytes = 1 << 30;
  const int taken = check({.size = 4}, Operation::allreduce, 0);
  EXPECT_TRUE(taken == 0 || taken == 12);
}

TEST_F(JobTest, AnErrorOfTheHostReachesItsErrorHandler) {
  // A type that the host fails to reduce, on all ranks.
  FakeWorld world(3);
  std::atomic<int> handled{0};
  run_jobs(world, [&](Job& job, FakeHost& host, int) {
    long double in = 1, out = 0;
    int error = 0;
    const Call call{.operation = Operation::allreduce,
                    .comm = host.world(),
                    .send_buffer = &in,
                    .recv_buffer = &out,
                    .send_count = 1,
                    .send_type = fake_host::datatype(ElementType::other),
                    .op = fake_host::op(ReduceOp::bxor)};
    if (job.collective(call, &error) == Outcome::done) {
      EXPECT_NE(error, host::success);
      handled += static_cast<int>(host.handled_errors().size());
    }
  });
  EXPECT_EQ(handled, 3);
}

TEST_F(JobTest, AnOperatorThatIsNotDefinedForTheTypeIsTheHostsToReport) {
  // A predefined operator on a type that the program made, also where there is nothing to reduce.
  FakeWorld world(3);
  const host::Datatype dense = world.add_type({{0, 8}}, 8);
  std::atomic<int> left{0};
  run_jobs(world, [&](Job& job, FakeHost& host, int) {
    std::int64_t in = 1, out = 0;
    for (std::size_t count = 0; count < 2; ++count) {
      int error = 0;
      const Call call{.operation = Operation::allreduce,
                      .comm = host.world(),
                      .send_buffer = &in,
                      .recv_buffer = &out,
                      .send_count = count,
                      .send_type = dense,
                      .op = fake_host::op(ReduceOp::sum)};
      if (job.collective(call, &error) == Outcome::native) ++left;
    }
    EXPECT_TRUE(host.handled_errors().empty());
  });
  EXPECT_EQ(left, 6);
}

TEST_F(JobTest, CommunicatorsComeAndGo) {
  run_jobs(6, [&](Job& job, FakeHost& host, int rank) {
    for (int round = 0; round < 40; ++round) {
      host::Comm part{};
      host.comm_split(host.world(), rank % 2, (round % 2 ? -rank : rank), &part);
      std::int32_t one = 1, sum = 0;
      int error = 0;
      const Call call = sum_call(part, &one, &sum, 1);
      EXPECT_EQ(job.collective(call, &error), Outcome::done);
      EXPECT_EQ(sum, 3);
      host.comm_free(&part);
    }
  });
}

}  // namespace
}  // namespace unisono::runtime::job_test
