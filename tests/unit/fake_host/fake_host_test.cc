// SPDX-License-Identifier: BSD-3-Clause
#include "fake_host/fake_host.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

namespace unisono::fake_host {
namespace {

int wait(host::Host& host, host::Request* request) {
  bool is_done = false;
  int error = host::success;
  while (!is_done && error == host::success) {
    error = host.test(request, &is_done);
    if (!is_done) std::this_thread::yield();
  }
  return error;
}

TEST(FakeHost, MessagesOfOnePairDoNotOvertake) {
  for (const bool is_synchronous : {false, true}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      FakeWorld world(2,
                      {.is_synchronous = is_synchronous, .seed = seed, .max_delay = static_cast<int>(seed)});
      world.run([](host::Host& host, int rank) {
        constexpr int count = 20;
        int values[count];
        host::Request requests[count];
        for (int i = 0; i < count; ++i) {
          values[i] = rank == 0 ? i : -1;
          if (rank == 0) {
            ASSERT_EQ(host.isend(&values[i], sizeof(int), 1, 5, host.world(), &requests[i]), host::success);
          } else {
            ASSERT_EQ(host.irecv(&values[i], sizeof(int), 0, 5, host.world(), &requests[i]), host::success);
          }
        }
        int left = count;
        while (left > 0) {
          int completed[count], completed_count = 0;
          host::Request pending[count];
          int where[count], pending_count = 0;
          for (int i = 0; i < count; ++i) {
            if (requests[i] == host::Request{}) continue;
            where[pending_count] = i;
            pending[pending_count++] = requests[i];
          }
          ASSERT_EQ(host.test_some(pending_count, pending, &completed_count, completed), host::success);
          for (int i = 0; i < completed_count; ++i) requests[where[completed[i]]] = host::Request{};
          left -= completed_count;
          std::this_thread::yield();
        }
        for (int i = 0; i < count; ++i) EXPECT_EQ(values[i], i);
      });
      EXPECT_EQ(world.leftovers(), "");
    }
  }
}

TEST(FakeHost, TagsAndCommunicatorsKeepMessagesApart) {
  FakeWorld world(2);
  world.run([](host::Host& host, int rank) {
    host::Comm other;
    ASSERT_EQ(host.comm_split(host.world(), 0, 0, &other), host::success);
    int sent[3] = {1, 2, 3}, got[3] = {};
    host::Request requests[3];
    if (rank == 0) {
      host.isend(&sent[0], 4, 1, 7, host.world(), &requests[0]);
      host.isend(&sent[1], 4, 1, 8, host.world(), &requests[1]);
      host.isend(&sent[2], 4, 1, 7, other, &requests[2]);
    } else {
      host.irecv(&got[2], 4, 0, 7, other, &requests[2]);
      host.irecv(&got[1], 4, 0, 8, host.world(), &requests[1]);
      host.irecv(&got[0], 4, 0, 7, host.world(), &requests[0]);
    }
    for (host::Request& request : requests) EXPECT_EQ(wait(host, &request), host::success);
    if (rank == 1) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(got[i], sent[i]);
    }
    host.comm_free(&other);
  });
  EXPECT_EQ(world.leftovers(), "");
}

TEST(FakeHost, LargeMessageNeedsTheSendersProgress) {
  FakeWorld world(2, {.eager_limit_bytes = 8});
  std::atomic<bool> may_progress{false};
  std::atomic<bool> has_arrived{false};
  world.run([&](host::Host& host, int rank) {
    std::vector<char> data(100, static_cast<char>(rank + 1));
    host::Request request;
    if (rank == 0) {
      host.isend(data.data(), data.size(), 1, 0, host.world(), &request);
      while (!may_progress) std::this_thread::yield();
      while (!has_arrived) host.progress();
      EXPECT_EQ(wait(host, &request), host::success);
    } else {
      host.irecv(data.data(), data.size(), 0, 0, host.world(), &request);
      bool is_done = false;
      for (int i = 0; i < 100; ++i) {
        host.test(&request, &is_done);
        EXPECT_FALSE(is_done);
      }
      may_progress = true;
      EXPECT_EQ(wait(host, &request), host::success);
      EXPECT_EQ(data, std::vector<char>(100, 1));
      has_arrived = true;
    }
  });
}

TEST(FakeHost, TruncationIsAnError) {
  FakeWorld world(2);
  world.run([](host::Host& host, int rank) {
    int values[2] = {1, 2};
    host::Request request;
    if (rank == 0) {
      host.isend(values, 8, 1, 0, host.world(), &request);
      EXPECT_EQ(wait(host, &request), host::success);
    } else {
      host.irecv(values, 4, 0, 0, host.world(), &request);
      EXPECT_EQ(wait(host, &request), error_truncated);
    }
  });
}

TEST(FakeHost, ChosenSendFails) {
  FakeWorld world(1, {.failing_rank = 0, .failing_isend = 1});
  world.run([](host::Host& host, int) {
    host::Request send, recv;
    int out = 3, in = 0;
    EXPECT_EQ(host.isend(&out, 4, 0, 0, host.world(), &send), host::success);
    EXPECT_EQ(host.irecv(&in, 4, 0, 0, host.world(), &recv), host::success);
    EXPECT_EQ(wait(host, &send), host::success);
    EXPECT_EQ(wait(host, &recv), host::success);
    EXPECT_EQ(in, 3);
    EXPECT_EQ(host.isend(&out, 4, 0, 0, host.world(), &send), 77);
  });
}

TEST(FakeHost, DeadlockIsReportedWithWhatEveryRankWaitsFor) {
  FakeWorld world(2, {.deadlock_seconds = 0.2});
  std::string reason;
  try {
    world.run([](host::Host& host, int rank) {
      int value = 0;
      host::Request request;
      host.irecv(&value, 4, 1 - rank, 9, host.world(), &request);
      wait(host, &request);
    });
  } catch (const Stopped& stopped) {
    reason = stopped.what();
  }
  EXPECT_NE(reason.find("deadlock"), std::string::npos) << reason;
  EXPECT_NE(reason.find("rank 1 receive from 0, tag 9"), std::string::npos) << reason;
}

TEST(FakeHost, ExceptionOfOneRankStopsTheOthers) {
  FakeWorld world(3);
  EXPECT_THROW(world.run([](host::Host& host, int rank) {
    if (rank == 1) throw std::out_of_range("on purpose");
    host.barrier(host.world());
  }),
               std::out_of_range);
}

TEST(FakeHost, SplitOrdersByKeyAndTranslates) {
  FakeWorld world(6);
  world.run([](host::Host& host, int rank) {
    host::Comm half;
    ASSERT_EQ(host.comm_split(host.world(), rank % 2, -rank, &half), host::success);
    EXPECT_EQ(host.comm_size(half), 3);
    EXPECT_EQ(host.comm_rank(half), (5 - rank) / 2);
    std::vector<int> ranks;
    ASSERT_EQ(host.translate_ranks(half, host.world(), &ranks), host::success);
    EXPECT_EQ(ranks, (std::vector<int>{4 + rank % 2, 2 + rank % 2, rank % 2}));
    ASSERT_EQ(host.translate_ranks(host.world(), half, &ranks), host::success);
    EXPECT_EQ(ranks[1 - rank % 2], host::no_rank);
    host::Comm none;
    ASSERT_EQ(host.comm_split(half, host.comm_rank(half) == 0 ? -1 : 3, 0, &none), host::success);
    EXPECT_EQ(none == host::Comm{}, host.comm_rank(half) == 0);
    if (none != host::Comm{}) {
      EXPECT_EQ(host.comm_size(none), 2);
    }
    int freed = 0;
    host.on_comm_free(
        half, [](void* count) { ++*static_cast<int*>(count); }, &freed);
    EXPECT_EQ(freed, 0);
    host.comm_free(&half);
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(half, host::Comm{});
  });
}

TEST(FakeHost, CollectivesOfSetUp) {
  FakeWorld world(5);
  world.run([](host::Host& host, int rank) {
    std::uint64_t values[2] = {std::uint64_t{1} << rank, 10u + rank};
    host.agree(values, 2, host::AgreeOp::bor, host.world());
    EXPECT_EQ(values[0], 31u);
    std::uint64_t low = 10 + rank, high = 10 + rank, sum = rank, both = 6u | (rank & 1);
    host.agree(&low, 1, host::AgreeOp::min, host.world());
    host.agree(&high, 1, host::AgreeOp::max, host.world());
    host.agree(&sum, 1, host::AgreeOp::sum, host.world());
    host.agree(&both, 1, host::AgreeOp::band, host.world());
    EXPECT_EQ(low, 10u);
    EXPECT_EQ(high, 14u);
    EXPECT_EQ(sum, 10u);
    EXPECT_EQ(both, 6u);
    int word = rank == 3 ? 42 : 0;
    host.bcast_bytes(&word, sizeof word, 3, host.world());
    EXPECT_EQ(word, 42);
    int all[5] = {};
    host.allgather_bytes(&rank, sizeof rank, all, host.world());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(all[i], i);
    int gathered[5] = {-1, -1, -1, -1, -1};
    host.gather_bytes(&rank, sizeof rank, gathered, 2, host.world());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(gathered[i], rank == 2 ? i : -1);
    EXPECT_EQ(host.barrier(host.world()), host::success);
  });
}

TEST(FakeHost, GathersWithoutWaiting) {
  FakeWorld world(3, {.max_delay = 2});
  world.run([](FakeHost& host, int rank) {
    int first[3], second[3];
    host::Request requests[2];
    EXPECT_EQ(host.start_allgather_bytes(&rank, sizeof rank, first, host.world(), &requests[0]),
              host::success);
    const int more = rank + 10;
    EXPECT_EQ(host.start_allgather_bytes(&more, sizeof more, second, host.world(), &requests[1]),
              host::success);
    EXPECT_EQ(host.barrier(host.world()), host::success);
    for (int which : {1, 0}) {
      bool is_done = false;
      while (!is_done) EXPECT_EQ(host.test(&requests[which], &is_done), host::success);
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(first[i], i);
      EXPECT_EQ(second[i], i + 10);
    }
  });
  EXPECT_EQ(world.leftovers(), "");
}

TEST(FakeHost, SeesCollectivesInAnotherOrder) {
  FakeWorld world(2);
  const auto body = [](FakeHost& host, int rank) {
    int all[2];
    host::Request request;
    if (rank == 0) host.start_allgather_bytes(&rank, sizeof rank, all, host.world(), &request);
    host.barrier(host.world());
    if (rank == 1) host.start_allgather_bytes(&rank, sizeof rank, all, host.world(), &request);
  };
  EXPECT_THROW(world.run(body), std::logic_error);
}

TEST(FakeHost, NamesAndIntercommunicators) {
  FakeWorld world(1, {.node_labels = {4}, .is_thread_multiple = false});
  EXPECT_EQ(world.node_labels(), std::vector<int>{4});
  world.run([](FakeHost& host, int) {
    EXPECT_EQ(host.comm_name(host.world()), "");
    host.set_comm_name(host.world(), "everybody");
    EXPECT_EQ(host.comm_name(host.world()), "everybody");
    EXPECT_FALSE(host.is_intercommunicator(host.world()));
    host.declare_intercommunicator(host.world());
    EXPECT_TRUE(host.is_intercommunicator(host.world()));
    EXPECT_FALSE(host.is_thread_multiple());
    EXPECT_EQ(host.call_error_handler(host.world(), 9), 9);
    EXPECT_EQ(host.handled_errors(), std::vector<int>{9});
  });
}

TEST(FakeHost, TypesPackAndUnpack) {
  FakeWorld world(1);
  const host::Datatype gapped = world.gapped_int32();
  world.run([&](host::Host& host, int) {
    host::TypeInfo info;
    host.type_info(gapped, &info);
    EXPECT_EQ(info.size_bytes, 8u);
    EXPECT_EQ(info.extent_bytes, 16);
    EXPECT_EQ(info.true_extent_bytes, 12u);
    EXPECT_EQ(info.true_lower_bound_bytes, 0);
    EXPECT_FALSE(info.is_contiguous);
    EXPECT_EQ(info.element, ElementType::derived);
    std::vector<int> data{1, -1, 2, -1, 3, -1, 4, -1}, packed(4), back(8, 9);
    EXPECT_EQ(host.pack(data.data(), 2, gapped, packed.data(), 16), host::success);
    EXPECT_EQ(packed, (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(host.pack(data.data(), 2, gapped, packed.data(), 12), error_argument);
    EXPECT_EQ(host.unpack(packed.data(), 16, back.data(), 2, gapped), host::success);
    EXPECT_EQ(back, (std::vector<int>{1, 9, 2, 9, 3, 9, 4, 9}));
    host.type_info(datatype(ElementType::float64), &info);
    EXPECT_TRUE(info.is_contiguous);
    EXPECT_EQ(info.size_bytes, 8u);
    EXPECT_EQ(info.element, ElementType::float64);
    host.type_info(datatype(ElementType::double_int), &info);
    EXPECT_EQ(info.size_bytes, 12u);
    EXPECT_EQ(info.extent_bytes, 16);
    EXPECT_FALSE(info.is_contiguous);
  });
}

TEST(FakeHost, ReducesPredefinedAndUserOperators) {
  FakeWorld world(1);
  const host::Op minus = world.add_op(
      [](const void* in, void* inout, std::size_t count, host::Datatype) {
        for (std::size_t i = 0; i < count; ++i) {
          static_cast<int*>(inout)[i] = static_cast<const int*>(in)[i] - static_cast<int*>(inout)[i];
        }
      },
      false);
  world.run([&](host::Host& host, int) {
    const int left[3] = {5, 6, 7};
    int right[3] = {1, 2, 3};
    const host::Datatype int32 = datatype(ElementType::int32);
    EXPECT_EQ(host.reduce_local(left, right, 3, int32, minus), host::success);
    EXPECT_EQ(right[0], 4);
    EXPECT_EQ(right[2], 4);
    EXPECT_FALSE(host.is_commutative(minus));
    EXPECT_EQ(host.reduce_op(minus), ReduceOp::host);
    EXPECT_EQ(host.reduce_op(op(ReduceOp::bxor)), ReduceOp::bxor);
    host.reduce_local(left, right, 3, int32, op(ReduceOp::prod));
    EXPECT_EQ(right[1], 24);
    double a = 2.5, b = -1;
    host.reduce_local(&a, &b, 1, datatype(ElementType::float64), op(ReduceOp::max));
    EXPECT_EQ(b, 2.5);
    EXPECT_EQ(host.reduce_local(&a, &b, 1, datatype(ElementType::float64), op(ReduceOp::band)),
              error_argument);
    const int in[2] = {3, 1};
    int inout[2] = {3, 0};
    host.reduce_local(in, inout, 1, datatype(ElementType::int_int), op(ReduceOp::minloc));
    EXPECT_EQ(inout[1], 0);
  });
}

}  // namespace
}  // namespace unisono::fake_host
