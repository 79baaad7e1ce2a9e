// SPDX-License-Identifier: BSD-3-Clause
// Self-check and quarantine (B9) over the fake host: the test itself stands for the host's collectives. The
// algorithms called "faulty" are tests/faulty/faulty_algorithms.cc.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "program.h"
#include "verify_fixture.h"

namespace unisono::runtime::verify_test {
namespace {

constexpr int size = 4;

class VerifyTest : public VerifyFixture {};

// One call by Unisono, and where it asks for it by the host, which is `shift` off the right sum.
template <typename T>
struct Caller {
  Job& job;
  FakeHost& host;
  int rank;
  Operation operation = Operation::allreduce;
  std::size_t count = 5;
  bool is_in_place = false;
  T shift = 0;
  std::vector<T> out{};

  Outcome call() {
    std::vector<T> in(count);
    out.assign(count, T{});
    for (std::size_t i = 0; i < count; ++i) in[i] = operand<T>(rank, i);
    const std::vector<T> given = in;
    if (is_in_place) out = in;
    const Call call{
        .operation = operation,
        .is_in_place = is_in_place,
        .comm = host.world(),
        .send_buffer = is_in_place ? nullptr : in.data(),
        .recv_buffer = out.data(),
        .send_count = count,
        .send_type = fake_host::datatype(std::is_integral_v<T> ? ElementType::int64 : ElementType::float64),
        .op = fake_host::op(ReduceOp::sum)};
    int error = -1;
    const Outcome outcome = job.collective(call, &error);
    if (outcome != Outcome::compared) return outcome;
    // The host finds the memory as the program gave it.
    EXPECT_EQ(in, given);
    EXPECT_EQ(out, is_in_place ? given : std::vector<T>(count, T{}));
    for (std::size_t i = 0; i < count; ++i) out[i] = hosts(i);
    EXPECT_EQ(job.parts().blocking.compare(call, host::success), host::success);
    return outcome;
  }
  T hosts(std::size_t i) const {
    return joined<T>(operation == Operation::scan ? rank + 1 : size, i) + shift;
  }
  bool has_hosts_result() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (out[i] != hosts(i)) return false;
    }
    return true;
  }
};

TEST_F(VerifyTest, OffComparesNothing) {
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    Caller<std::int64_t> caller{job, host, rank};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(caller.call(), Outcome::done);
  });
}

TEST_F(VerifyTest, OneInSoManyIsComparedByItsNumber) {
  options_.verify = "sample:3";
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    Caller<std::int64_t> caller{job, host, rank};
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(caller.call(), i % 3 == 0 ? Outcome::compared : Outcome::done);
      EXPECT_TRUE(caller.has_hosts_result());
    }
  });
  EXPECT_EQ(report_text().find("quarantined"), std::string::npos);
}

TEST_F(VerifyTest, AWrongAlgorithmIsQuarantinedAndTheHostsResultDelivered) {
  options_.verify = "sample";
  for (const Operation operation : {Operation::allreduce, Operation::scan}) {
    for (const bool is_in_place : {false, true}) {
      options_.algorithm = std::string(name(operation)) + ":faulty";
      run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
        Caller<std::int64_t> caller{job, host, rank, operation, 5, is_in_place};
        EXPECT_EQ(caller.call(), Outcome::compared);
        EXPECT_TRUE(caller.has_hosts_result());
        // Its kind of calls begins anew, with another algorithm: checked at once.
        const Outcome next = caller.call();
        EXPECT_NE(next, Outcome::done);
        EXPECT_TRUE(next != Outcome::compared || caller.has_hosts_result());
      });
      EXPECT_NE(report_text().find(std::string(name(operation)) + ":faulty was wrong on 4 ranks"),
                std::string::npos)
          << report_text();
      EXPECT_NE(report_text().find("was forced but is quarantined"), std::string::npos) << report_text();
    }
  }
  EXPECT_GT(files(), 0);
}

TEST_F(VerifyTest, InputsThatCannotBeWrittenSayWhy) {
  options_.verify = "all";
  options_.verify_inputs = "/proc/unisono";
  options_.log = "warning";
  options_.algorithm = "allreduce:faulty";
  FakeWorld world(size);
  ::testing::internal::CaptureStderr();
  run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
    Caller<std::int64_t> caller{job, host, rank};
    caller.call();
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("inputs"), std::string::npos) << said;
  EXPECT_NE(said.find(".json cannot be written: No such file"), std::string::npos) << said;
}

TEST_F(VerifyTest, LearningMeetsAWrongAlgorithmOnce) {
  options_.verify = "sample";
  options_.learn = "star";
  options_.learn_iterations = 2;
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    Caller<std::int64_t> caller{job, host, rank};
    for (int i = 0; i < 200; ++i) {
      const Outcome outcome = caller.call();
      EXPECT_TRUE(outcome == Outcome::native_timed || outcome == Outcome::native ||
                  caller.has_hosts_result());
      if (outcome == Outcome::native_timed) BlockingCalls::native_finished(1);
    }
  });
  const auto content = report();
  for (const auto& row : content["classes"]) {
    if (row["algorithm"] == "faulty") {
      EXPECT_EQ(row["calls"], 1);
    }
  }
  // What was learned before, and what was learned anew without it.
  ASSERT_EQ(content["learning"].size(), 2u);
  EXPECT_EQ(report_text().find("faulty was wrong"), report_text().rfind("faulty was wrong"));
  const auto& anew =
      content["learning"][content["learning"][0]["calls"] > content["learning"][1]["calls"] ? 0 : 1];
  EXPECT_EQ(anew.dump().find("faulty"), std::string::npos);
}

TEST_F(VerifyTest, WithoutChecksTheWrongResultIsDelivered) {
  // The fault is there: what the tests above see is the check.
  options_.algorithm = "allreduce:faulty";
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    Caller<std::int64_t> caller{job, host, rank};
    EXPECT_EQ(caller.call(), Outcome::done);
    EXPECT_EQ(caller.has_hosts_result(), rank + 1 != size);
  });
}

TEST_F(VerifyTest, NewCommunicatorsKnowOfIt) {
  options_.verify = "all";
  options_.algorithm = "allreduce:faulty";
  FakeWorld world(size);
  std::atomic<int> right{0};
  run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
    Caller<std::int64_t>{job, host, rank}.call();
    host::Comm other{};
    host.comm_split(host.world(), 0, rank, &other);
    std::int64_t in = rank + 1, out = 0;
    const Call call = sum_call(other, &in, &out, 1);
    int error = -1;
    if (job.collective(call, &error) == Outcome::compared) {
      out = 10;
      job.parts().blocking.compare(call, host::success);
      ++right;
    }
    host.comm_free(&other);
  });
  EXPECT_EQ(right, size);
  // One mismatch, on the first communicator alone.
  const std::string text = report_text();
  const std::size_t first = text.find("faulty was wrong");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("faulty was wrong", first + 1), std::string::npos);
}

TEST_F(VerifyTest, AnotherOrderOfFloatingPointIsNoFault) {
  options_.verify = "all";
  options_.is_reproducible = true;  // an order that is not the host's
  FakeWorld world(size);
  std::atomic<int> different{0};
  run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
    Caller<double> caller{job, host, rank, Operation::allreduce, 50};
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(caller.call(), Outcome::compared);
      // Unisono's is delivered, as by calls that are not checked.
      if (!caller.has_hosts_result()) ++different;
    }
  });
  EXPECT_EQ(different, 2 * size);
  EXPECT_EQ(report_text().find("quarantined"), std::string::npos);
}

TEST_F(VerifyTest, MoreThanAnOrderExplainsIsAFault) {
  options_.verify = "all";
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    // On one rank alone.
    Caller<double> caller{job, host, rank, Operation::allreduce, 50, false, rank == 2 ? 1e-6 : 0};
    EXPECT_EQ(caller.call(), Outcome::compared);
    EXPECT_TRUE(caller.has_hosts_result());
  });
  EXPECT_NE(report_text().find("is quarantined"), std::string::npos);
}

}  // namespace
}  // namespace unisono::runtime::verify_test
