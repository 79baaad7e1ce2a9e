// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads of each rank call collectives, make and free communicators at the same
// time, each on communicators of its own. TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "../seed.h"
#include "program.h"

namespace unisono::runtime::threads_test {
namespace {

// One communicator as one thread of one rank sees it.
struct Member {
  host::Comm comm{};
  int rank = 0, size = 1;
};

Member member_of(FakeHost& host, host::Comm comm) {
  return {comm, host.comm_rank(comm), host.comm_size(comm)};
}

// Runs `body(thread)` in threads of this rank; what one of them throws is thrown here.
void run_threads(int count, const std::function<void(int thread)>& body) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::exception_ptr thrown;
  for (int thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      try {
        body(thread);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

// One collective with a result that only these ranks, this operation and this turn have.
class Turn {
 public:
  Turn(Job& job, const Member& member, int salt) : job_(job), member_(member), salt_(salt) {}

  // True where Unisono took the call; a wrong result is a failure of the test.
  bool run(Operation operation, std::size_t count, int root) {
    const auto size = static_cast<std::size_t>(member_.size);
    std::vector<std::int32_t> in(count * size), out(count * size, -1);
    const auto value = [&](int rank, std::size_t i) {
      return static_cast<std::int32_t>(
          (static_cast<std::size_t>(salt_) * 7919 + static_cast<std::size_t>(rank) * 131 + i) % 100003);
    };
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = value(member_.rank, i);
    std::vector<std::int32_t> expected;
    if (operation == Operation::allreduce) {
      for (std::size_t i = 0; i < count; ++i) {
        expected.push_back(0);
        for (int rank = 0; rank < member_.size; ++rank) expected.back() += value(rank, i);
      }
    } else if (operation == Operation::bcast) {
      for (std::size_t i = 0; i < count; ++i) expected.push_back(value(root, i));
    } else if (operation == Operation::allgather || operation == Operation::alltoall) {
      const std::size_t block = operation == Operation::alltoall ? static_cast<std::size_t>(member_.rank) : 0;
      for (int rank = 0; rank < member_.size; ++rank) {
        for (std::size_t i = 0; i < count; ++i) expected.push_back(value(rank, block * count + i));
      }
    }
    const bool is_bcast = operation == Operation::bcast;
    const Call call{.operation = operation,
                    .root = root,
                    .comm = member_.comm,
                    .send_buffer = in.data(),
                    .recv_buffer = is_bcast ? in.data() : out.data(),
                    .send_count = count,
                    .recv_count = count,
                    .send_type = fake_host::datatype(ElementType::int32),
                    .recv_type = fake_host::datatype(ElementType::int32),
                    .op = fake_host::op(ReduceOp::sum)};
    int error = host::success;
    if (job_.collective(call, &error) != Outcome::done) return false;
    EXPECT_EQ(error, host::success);
    auto& result = is_bcast ? in : out;
    result.resize(expected.size());
    EXPECT_EQ(result, expected) << name(operation) << " of " << count << " on rank " << member_.rank << " of "
                                << member_.size;
    return true;
  }

 private:
  Job& job_;
  const Member& member_;
  int salt_;
};

constexpr Operation operations[] = {Operation::allreduce, Operation::barrier, Operation::bcast,
                                    Operation::allgather, Operation::alltoall};
constexpr std::size_t counts[] = {1, 3, 40, 700, 9000};

class ThreadsTest : public ProgramTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ThreadsTest() {
    options_.nodes = GetParam();
    // Between nodes the rules leave some classes to the MPI: here every call is to be taken.
    if (*GetParam() != 0) options_.algorithm = "bcast:chain(segment=1K),alltoall:pairwise";
  }

  static constexpr int ranks = 4;
};

TEST_P(ThreadsTest, CollectivesOnDifferentCommunicators) {
  constexpr int threads = 3, turns = 40;
  run_jobs(ranks,
           [&](Job& job, FakeHost& host, int rank) {
             std::vector<host::Comm> comms(threads);
             // Every other one counts its ranks backwards.
             for (int i = 0; i < threads; ++i)
               host.comm_split(host.world(), 0, i % 2 ? -rank : rank, &comms[i]);
             run_threads(threads, [&](int thread) {
               std::mt19937 random(seed() + static_cast<std::uint32_t>(thread));
               const Member member = member_of(host, comms[thread]);
               for (int turn = 0; turn < turns; ++turn) {
                 const Operation operation = operations[random() % std::size(operations)];
                 const std::size_t count =
                     operation == Operation::barrier ? 0 : counts[random() % std::size(counts)];
                 const int root = static_cast<int>(random() % ranks);
                 EXPECT_TRUE(Turn(job, member, turn * threads + thread).run(operation, count, root));
               }
             });
             for (host::Comm& comm : comms) host.comm_free(&comm);
           },
           {.seed = seed(), .max_delay = 3});
}

// All threads' first calls at once: each set-up asks for the numbers that another one may be holding.
TEST_P(ThreadsTest, ManySetUpsAtOnce) {
  constexpr int threads = 6, rounds = 8;
  run_jobs(ranks, [&](Job& job, FakeHost& host, int rank) {
    std::vector<host::Comm> bases(threads);
    for (host::Comm& base : bases) host.comm_split(host.world(), 0, rank, &base);
    run_threads(threads, [&](int thread) {
      for (int round = 0; round < rounds; ++round) {
        host::Comm made{};
        host.comm_split(bases[thread], 0, rank, &made);
        EXPECT_TRUE(Turn(job, member_of(host, made), round).run(Operation::allreduce, 5, 0));
        host.comm_free(&made);
      }
    });
    for (host::Comm& base : bases) host.comm_free(&base);
  });
}

// A set-up that waits for a rank must not hold what that rank needs for another one first.
TEST_P(ThreadsTest, SetUpsInAnOrderOfTheirOwnOnEachRank) {
  constexpr int rounds = 20;
  run_jobs(ranks, [&](Job& job, FakeHost& host, int rank) {
    for (int round = 0; round < rounds; ++round) {
      host::Comm first{}, second{};
      host.comm_split(host.world(), 0, rank, &first);
      host.comm_split(host.world(), 0, rank, &second);
      std::atomic<bool> is_inside = false;
      const auto call_on = [&](host::Comm comm) {
        is_inside = true;
        EXPECT_TRUE(Turn(job, member_of(host, comm), round).run(Operation::allreduce, 5, 0));
      };
      if (rank == 0) {
        run_threads(2, [&](int thread) {
          if (thread == 0) return call_on(first);
          while (!is_inside) std::this_thread::yield();
          std::this_thread::sleep_for(
              std::chrono::milliseconds(1));  // until the other one waits in its set-up
          call_on(second);
        });
      } else {
        call_on(second);
        call_on(first);
      }
      host.comm_free(&first);
      host.comm_free(&second);
    }
  });
}

// Each thread splits, duplicates, uses and frees communicators in an order drawn from the seed, the same on
// all ranks that share them.
TEST_P(ThreadsTest, CommunicatorsComeAndGoInRandomOrder) {
  constexpr int threads = 3, turns = 60;
  run_jobs(ranks,
           [&](Job& job, FakeHost& host, int rank) {
             std::vector<host::Comm> bases(threads);
             for (host::Comm& base : bases) host.comm_split(host.world(), 0, rank, &base);
             run_threads(threads, [&](int thread) {
               std::mt19937 random(seed() * 31 + static_cast<std::uint32_t>(thread));
               std::vector<Member> live;  // on all ranks as many; those of one place are parts of one split
               for (int turn = 0; turn < turns; ++turn) {
                 const std::uint32_t what = random() % 4, which = random(), how = random();
                 if (live.empty() || (what == 0 && live.size() < 6)) {
                   // All together, halves, every other one, or the first three and the last.
                   const int colors[] = {0, rank / 2, rank % 2, rank < 3 ? 0 : 1};
                   host::Comm made{};
                   host.comm_split(bases[thread], colors[how % 4], which % 2 ? -rank : rank, &made);
                   live.push_back(member_of(host, made));
                 } else if (what == 1) {
                   const std::size_t place = which % live.size();
                   host.comm_free(&live[place].comm);
                   live.erase(live.begin() + static_cast<std::ptrdiff_t>(place));
                 } else {
                   const Member& member = live[which % live.size()];
                   const Operation operation = operations[how % std::size(operations)];
                   const std::size_t count =
                       operation == Operation::barrier ? 0 : counts[(how >> 8) % std::size(counts)];
                   const int root = static_cast<int>((how >> 16) % static_cast<std::uint32_t>(member.size));
                   const bool is_taken =
                       Turn(job, member, turn * threads + thread).run(operation, count, root);
                   EXPECT_EQ(is_taken, member.size > 1);
                 }
               }
               for (Member& member : live) host.comm_free(&member.comm);
             });
             for (host::Comm& base : bases) host.comm_free(&base);
           },
           {.seed = seed(), .max_delay = 2});
}

INSTANTIATE_TEST_SUITE_P(Nodes, ThreadsTest, ::testing::Values("", "2x2", "4x1"), [](const auto& parameter) {
  const std::string nodes = parameter.param;
  return nodes.empty() ? std::string("one") : "n" + nodes;
});

}  // namespace
}  // namespace unisono::runtime::threads_test
