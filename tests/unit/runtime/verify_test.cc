// SPDX-License-Identifier: BSD-3-Clause
// Self-check and quarantine (B9) over the fake host: the test itself stands for the host's collectives. The
// algorithms called "faulty" are tests/faulty/faulty_algorithms.cc.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fake_host/fake_host.h"
#include "job_options.h"
#include "runtime/job.h"
#include "verify_fixture.h"

namespace unisono::runtime {
namespace {

using host::fake::FakeHost;
using host::fake::FakeWorld;

constexpr int size = 4;

class VerifyTest : public VerifyFixture {
 protected:
  void SetUp() override {
    clear_options();
    VerifyFixture::SetUp();
  }
};

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
        .send_type = host::fake::datatype(std::is_integral_v<T> ? ElementType::int64 : ElementType::float64),
        .op = host::fake::op(ReduceOp::sum)};
    int error = -1;
    const Outcome outcome = job.collective(call, &error);
    if (outcome != Outcome::compared) return outcome;
    // The host finds the memory as the program gave it.
    EXPECT_EQ(in, given);
    EXPECT_EQ(out, is_in_place ? given : std::vector<T>(count, T{}));
    for (std::size_t i = 0; i < count; ++i) out[i] = hosts(i);
    EXPECT_EQ(job.compare(call, host::success), host::success);
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
  FakeWorld world(size);
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<std::int64_t> caller{job, host, rank};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(caller.call(), Outcome::done);
    job.finish();
  });
}

TEST_F(VerifyTest, OneInSoManyIsComparedByItsNumber) {
  set("UNISONO_VERIFY", "sample:3");
  FakeWorld world(size);
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<std::int64_t> caller{job, host, rank};
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(caller.call(), i % 3 == 0 ? Outcome::compared : Outcome::done);
      EXPECT_TRUE(caller.has_hosts_result());
    }
    job.finish();
  });
  EXPECT_EQ(report().find("quarantined"), std::string::npos);
}

TEST_F(VerifyTest, AWrongAlgorithmIsQuarantinedAndTheHostsResultDelivered) {
  set("UNISONO_VERIFY", "sample");
  for (const Operation operation : {Operation::allreduce, Operation::scan}) {
    for (const bool is_in_place : {false, true}) {
      set("UNISONO_ALGORITHM", std::string(name(operation)) + ":faulty");
      FakeWorld world(size);
      world.run([&](FakeHost& host, int rank) {
        Job job(host);
        Caller<std::int64_t> caller{job, host, rank, operation, 5, is_in_place};
        EXPECT_EQ(caller.call(), Outcome::compared);
        EXPECT_TRUE(caller.has_hosts_result());
        // Its kind of calls begins anew, with another algorithm: checked at once.
        const Outcome next = caller.call();
        EXPECT_NE(next, Outcome::done);
        EXPECT_TRUE(next != Outcome::compared || caller.has_hosts_result());
        job.finish();
      });
      EXPECT_NE(report().find(std::string(name(operation)) + ":faulty was wrong on 4 ranks"),
                std::string::npos)
          << report();
      EXPECT_NE(report().find("was forced but is quarantined"), std::string::npos) << report();
    }
  }
  EXPECT_GT(files(), 0);
}

TEST_F(VerifyTest, InputsThatCannotBeWrittenSayWhy) {
  set("UNISONO_VERIFY", "all");
  set("UNISONO_VERIFY_INPUTS", "/proc/unisono");
  set("UNISONO_LOG", "warning");
  set("UNISONO_ALGORITHM", "allreduce:faulty");
  FakeWorld world(size);
  ::testing::internal::CaptureStderr();
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<std::int64_t> caller{job, host, rank};
    caller.call();
    job.finish();
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("inputs"), std::string::npos) << said;
  EXPECT_NE(said.find(".json cannot be written: No such file"), std::string::npos) << said;
}

TEST_F(VerifyTest, LearningMeetsAWrongAlgorithmOnce) {
  set("UNISONO_VERIFY", "sample");
  set("UNISONO_LEARN", "star");
  set("UNISONO_LEARN_ITERATIONS", "2");
  FakeWorld world(size);
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<std::int64_t> caller{job, host, rank};
    for (int i = 0; i < 200; ++i) {
      const Outcome outcome = caller.call();
      EXPECT_TRUE(outcome == Outcome::native_timed || outcome == Outcome::native ||
                  caller.has_hosts_result());
      if (outcome == Outcome::native_timed) job.native_finished({}, 1);
    }
    job.finish();
  });
  const auto content = nlohmann::json::parse(report());
  for (const auto& row : content["classes"]) {
    if (row["algorithm"] == "faulty") {
      EXPECT_EQ(row["calls"], 1);
    }
  }
  // What was learned before, and what was learned anew without it.
  ASSERT_EQ(content["learning"].size(), 2u);
  EXPECT_EQ(report().find("faulty was wrong"), report().rfind("faulty was wrong"));
  const auto& anew =
      content["learning"][content["learning"][0]["calls"] > content["learning"][1]["calls"] ? 0 : 1];
  EXPECT_EQ(anew.dump().find("faulty"), std::string::npos);
}

TEST_F(VerifyTest, WithoutChecksTheWrongResultIsDelivered) {
  // The fault is there: what the tests above see is the check.
  set("UNISONO_ALGORITHM", "allreduce:faulty");
  FakeWorld world(size);
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<std::int64_t> caller{job, host, rank};
    EXPECT_EQ(caller.call(), Outcome::done);
    EXPECT_EQ(caller.has_hosts_result(), rank + 1 != size);
    job.finish();
  });
}

TEST_F(VerifyTest, NewCommunicatorsKnowOfIt) {
  set("UNISONO_VERIFY", "all");
  set("UNISONO_ALGORITHM", "allreduce:faulty");
  FakeWorld world(size);
  std::atomic<int> right{0};
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<std::int64_t>{job, host, rank}.call();
    host::Comm other{};
    host.comm_split(host.world(), 0, rank, &other);
    std::int64_t in = rank + 1, out = 0;
    const Call call{.operation = Operation::allreduce,
                    .comm = other,
                    .send_buffer = &in,
                    .recv_buffer = &out,
                    .send_count = 1,
                    .send_type = host::fake::datatype(ElementType::int64),
                    .op = host::fake::op(ReduceOp::sum)};
    int error = -1;
    if (job.collective(call, &error) == Outcome::compared) {
      out = 10;
      job.compare(call, host::success);
      ++right;
    }
    host.comm_free(&other);
    job.finish();
  });
  EXPECT_EQ(right, size);
  // One mismatch, on the first communicator alone.
  const std::string text = report();
  const std::size_t first = text.find("faulty was wrong");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("faulty was wrong", first + 1), std::string::npos);
}

TEST_F(VerifyTest, AnotherOrderOfFloatingPointIsNoFault) {
  set("UNISONO_VERIFY", "all");
  set("UNISONO_REPRODUCIBLE", "1");  // an order that is not the host's
  FakeWorld world(size);
  std::atomic<int> different{0};
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    Caller<double> caller{job, host, rank, Operation::allreduce, 50};
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(caller.call(), Outcome::compared);
      // Unisono's is delivered, as by calls that are not checked.
      if (!caller.has_hosts_result()) ++different;
    }
    job.finish();
  });
  EXPECT_EQ(different, 2 * size);
  EXPECT_EQ(report().find("quarantined"), std::string::npos);
}

TEST_F(VerifyTest, MoreThanAnOrderExplainsIsAFault) {
  set("UNISONO_VERIFY", "all");
  FakeWorld world(size);
  world.run([&](FakeHost& host, int rank) {
    Job job(host);
    // On one rank alone.
    Caller<double> caller{job, host, rank, Operation::allreduce, 50, false, rank == 2 ? 1e-6 : 0};
    EXPECT_EQ(caller.call(), Outcome::compared);
    EXPECT_TRUE(caller.has_hosts_result());
    job.finish();
  });
  EXPECT_NE(report().find("is quarantined"), std::string::npos);
}

}  // namespace
}  // namespace unisono::runtime
