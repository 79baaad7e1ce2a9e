// SPDX-License-Identifier: BSD-3-Clause
// Calls whose arguments are remembered, so that an equal one takes the short way to its schedule. What
// follows such a call differs from it in one thing or another, or in nothing.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.h"

namespace unisono::runtime::remembered_test {
namespace {

using Values = std::vector<std::int32_t>;

constexpr int ranks = 4;
const host::Datatype int32 = fake_host::datatype(ElementType::int32);

std::int32_t value(int rank, std::size_t i) {
  return static_cast<std::int32_t>(i) % 50 + rank;
}
Values values(int rank, std::size_t count) {
  Values made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = value(rank, i);
  return made;
}
Values of_all(std::size_t count, ReduceOp op) {
  Values made(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      made[i] = op == ReduceOp::sum ? made[i] + value(rank, i) : std::max(made[i], value(rank, i));
    }
  }
  return made;
}

class Calls {
 public:
  Calls(FakeHost& host, Job& job, int rank) : host_(host), job_(job), rank_(rank) {}

  void allreduce(std::size_t count, ReduceOp op = ReduceOp::sum, bool is_in_place = false) {
    Values in = values(rank_, count), out = is_in_place ? in : Values(count, -1);
    Call call = with_counts(Operation::allreduce, count, 0);
    call.is_in_place = is_in_place;
    call.send_buffer = is_in_place ? nullptr : in.data();
    call.recv_buffer = out.data();
    call.op = fake_host::op(op);
    run(call);
    EXPECT_EQ(out, of_all(count, op));
  }
  void reduce(std::size_t count, int root) {
    Values in = values(rank_, count), out(count, -1);
    Call call = with_counts(Operation::reduce, count, 0);
    call.root = root;
    call.send_buffer = in.data();
    if (rank_ == root) call.recv_buffer = out.data();
    call.op = fake_host::op(ReduceOp::sum);
    run(call);
    EXPECT_EQ(out, rank_ == root ? of_all(count, ReduceOp::sum) : Values(count, -1));
  }
  void bcast(std::size_t count, int root) {
    Values data = rank_ == root ? values(root, count) : Values(count, -1);
    Call call = with_counts(Operation::bcast, count, 0);
    call.root = root;
    call.send_buffer = call.recv_buffer = data.data();
    run(call);
    EXPECT_EQ(data, values(root, count));
  }
  void gather(std::size_t count, int root, bool is_in_place = false) {
    Values in = values(rank_, count), out(count * ranks, -1), all;
    for (int rank = 0; rank < ranks; ++rank) {
      const Values own = values(rank, count);
      all.insert(all.end(), own.begin(), own.end());
    }
    Call call = with_counts(Operation::gather, count, rank_ == root ? count : 0);
    call.root = root;
    call.send_buffer = in.data();
    if (rank_ == root) call.recv_buffer = out.data();
    if (is_in_place && rank_ == root) {
      std::copy(in.begin(), in.end(), out.begin() + static_cast<std::ptrdiff_t>(count) * root);
      call.is_in_place = true;
      call.send_buffer = nullptr;
      call.send_count = 0;
      call.send_type = {};
    }
    run(call);
    if (rank_ == root) {
      EXPECT_EQ(out, all);
    }
  }
  void alltoall(std::size_t count, bool is_in_place) {
    Values in, out(count * ranks, -1), all;
    for (int other = 0; other < ranks; ++other) {
      for (std::size_t i = 0; i < count; ++i) {
        in.push_back(rank_ * 100 + other);
        all.push_back(other * 100 + rank_);
      }
    }
    if (is_in_place) out = in;
    Call call = with_counts(Operation::alltoall, count, count);
    call.is_in_place = is_in_place;
    call.send_buffer = is_in_place ? nullptr : in.data();
    call.recv_buffer = out.data();
    run(call);
    EXPECT_EQ(out, all);
  }
  void barrier() { run({.operation = Operation::barrier, .comm = host_.world()}); }

 private:
  Call with_counts(Operation operation, std::size_t send, std::size_t recv) const {
    return {.operation = operation,
            .comm = host_.world(),
            .send_count = send,
            .recv_count = recv,
            .send_type = int32,
            .recv_type = recv == 0 ? host::Datatype{} : int32};
  }
  void run(const Call& call) {
    int error = 0;
    ASSERT_EQ(job_.collective(call, &error), Outcome::done);
    EXPECT_EQ(error, host::success);
  }
  FakeHost& host_;
  Job& job_;
  int rank_;
};

class RememberedTest : public ProgramTest {
 protected:
  template <class Body>
  void run(const std::string& algorithms, Body body) {
    options_.algorithm = algorithms;
    run_jobs(ranks, [&](Job& job, FakeHost& host, int rank) {
      Calls calls(host, job, rank);
      for (int repeat = 0; repeat < 3; ++repeat) body(calls, job);
    });
  }
};

TEST_F(RememberedTest, CountsOperatorsAndPlacesChange) {
  run("allreduce:recursive_doubling", [](Calls& calls, Job&) {
    calls.allreduce(10);
    calls.allreduce(10);
    calls.allreduce(10, ReduceOp::max);
    calls.allreduce(10, ReduceOp::sum, true);
    calls.allreduce(10);
    calls.allreduce(9);       // of the same class
    calls.allreduce(100000);  // of another
    calls.allreduce(10, ReduceOp::max, true);
  });
}

TEST_F(RememberedTest, RootsChange) {
  run("reduce:binomial,bcast:binomial,gather:binomial", [](Calls& calls, Job&) {
    for (const int root : {0, 0, 1, 3, 1}) {
      calls.reduce(12, root);
      calls.bcast(12, root);
      calls.gather(12, root);
      calls.gather(12, root, true);
    }
  });
}

TEST_F(RememberedTest, WhatOverwritesItsInputWorksOnACopy) {
  run("alltoall:pairwise", [](Calls& calls, Job&) {
    for (const bool is_in_place : {false, true, true, false, false, true}) calls.alltoall(5, is_in_place);
  });
}

TEST_F(RememberedTest, SmallAndLargeCallsTakeTurns) {
  run("barrier:dissemination", [](Calls& calls, Job&) {
    calls.allreduce(2);
    calls.allreduce(10000);
    calls.allreduce(2);
    calls.allreduce(10000);
    calls.barrier();
  });
}

TEST_F(RememberedTest, AnotherAlgorithmIsForced) {
  run("allreduce:recursive_doubling,barrier:dissemination", [](Calls& calls, Job& job) {
    calls.allreduce(100);
    calls.allreduce(100);
    calls.barrier();
    EXPECT_TRUE(job.set_algorithm("allreduce:ring"));
    calls.allreduce(100);
    calls.allreduce(100);
    EXPECT_TRUE(job.set_algorithm("allreduce:recursive_doubling,barrier:dissemination"));
    calls.barrier();
  });
}

TEST_F(RememberedTest, TheReportCountsAllCalls) {
  const std::string path = ::testing::TempDir() + "remembered_test.json";
  options_.report = path;
  run("allreduce:recursive_doubling,barrier:dissemination", [](Calls& calls, Job&) {
    for (int i = 0; i < 100; ++i) {
      calls.allreduce(10);
      calls.barrier();
    }
  });
  std::ifstream file(path);
  const nlohmann::json report = nlohmann::json::parse(file);
  std::map<std::string, nlohmann::json> classes;
  for (const nlohmann::json& one : report["classes"]) classes[one["operation"]] = one;
  EXPECT_EQ(classes["allreduce"]["calls"], 300);
  EXPECT_EQ(classes["allreduce"]["bytes"], 300 * 40);
  EXPECT_EQ(classes["barrier"]["calls"], 300);
  EXPECT_EQ(classes["barrier"]["bytes"], 0);
  std::remove(path.c_str());
}

// A host's error ends a remembered call as it ends any other.
TEST_F(RememberedTest, AnErrorReachesTheHandler) {
  struct Enough : std::runtime_error {
    Enough() : std::runtime_error("enough") {}
  };
  options_.algorithm = "bcast:binomial";
  options_.use_shared_memory = false;
  FakeWorld world(2, {.failing_rank = 0, .failing_isend = 3});
  const auto body = [&](FakeHost& host, int rank) {
    Job job(host, options_);
    Values data(10, rank);
    for (int i = 0; i < 4; ++i) {
      int error = 0;
      const Call call{.operation = Operation::bcast,
                      .comm = host.world(),
                      .send_buffer = data.data(),
                      .recv_buffer = data.data(),
                      .send_count = data.size(),
                      .send_type = int32};
      EXPECT_EQ(job.collective(call, &error), Outcome::done);
      EXPECT_EQ(error != host::success, i == 3) << i;
    }
    EXPECT_EQ(host.handled_errors().size(), 1u);
    throw Enough();
  };
  EXPECT_THROW(world.run(body), Enough);
}

}  // namespace
}  // namespace unisono::runtime::remembered_test
