// SPDX-License-Identifier: BSD-3-Clause
// Self-check of calls that do not block (B9) over the fake host: the test itself stands for the host's
// collectives, which end when it lets them. The algorithms called "faulty" are
// tests/faulty/faulty_algorithms.cc.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <thread>

#include "program.h"
#include "runtime/judging/judge.h"
#include "verify_fixture.h"

namespace unisono::runtime::verify_started_test {
namespace {

constexpr int size = 4;

class VerifyStartedTest : public VerifyFixture {
 protected:
  VerifyStartedTest() { options_.verify = "sample"; }
};

// One call and its end. The host's part, `shift` off the right sum, may end only when `may_host_end`.
template <typename T>
struct Checked {
  Job& job;
  FakeHost& host;
  Operation operation = Operation::allreduce;
  std::size_t count = 5;
  bool is_in_place = false;
  T shift = 0;
  bool may_host_end = true;
  std::vector<T> in{}, out{};
  host::Comm comm{};
  HostPart* part = nullptr;  // until its end
  int weighed = 0;           // reductions of weights
  Outcome outcome = Outcome::native;
  bool is_ended = false;

  int rank() const { return host.comm_rank(host.world()); }
  int ranks() const { return operation == Operation::scan ? rank() + 1 : size; }
  T hosts(std::size_t i) const { return joined<T>(ranks(), i) + shift; }
  T right(std::size_t i) const { return hosts(i) - shift; }

  void start() {
    in.resize(count);
    out.assign(count, T{});
    for (std::size_t i = 0; i < count; ++i) in[i] = operand<T>(rank(), i);
    if (is_in_place) out = in;
    if (comm == host::Comm{}) comm = host.world();
    constexpr auto element = std::is_integral_v<T> ? ElementType::int64 : ElementType::float64;
    const Call call{.operation = operation,
                    .is_in_place = is_in_place,
                    .comm = comm,
                    .send_buffer = is_in_place ? nullptr : in.data(),
                    .recv_buffer = out.data(),
                    .send_count = count,
                    .send_type = fake_host::datatype(element),
                    .op = fake_host::op(ReduceOp::sum)};
    const Completion completion{[](void* context, int error) {
                                  EXPECT_EQ(error, host::success);
                                  static_cast<Checked*>(context)->is_ended = true;
                                },
                                this};
    outcome = job.start(call, completion, &part);
    if (outcome != Outcome::compared) return;
    ASSERT_NE(part, nullptr);
    // The host is given what the program gave.
    EXPECT_EQ(part->calls[0].recv_buffer, out.data());
    EXPECT_EQ(part->calls[0].is_in_place, is_in_place);
    EXPECT_EQ(out, is_in_place ? in : std::vector<T>(count, T{}));
    job.parts().started_checks.host_has_started(
        part,
        [](void* context, int* error) {
          *error = host::success;
          return static_cast<Checked*>(context)->end_host();
        },
        this);
  }
  bool end_host() {
    if (!may_host_end) return false;
    for (std::size_t i = 0; i < count; ++i) out[i] = hosts(i);
    for (std::size_t k = 1; k < part->calls.size(); ++k) {
      ++weighed;
      EXPECT_EQ(part->calls[k].op, fake_host::op(ReduceOp::sum));
      for (std::size_t i = 0; i < count; ++i) {
        T weight = 0;
        for (int r = 0; r < ranks(); ++r) weight += std::abs(operand<T>(r, i));
        EXPECT_EQ(static_cast<const T*>(part->calls[k].send_buffer)[i], std::abs(operand<T>(rank(), i)));
        static_cast<T*>(part->calls[k].recv_buffer)[i] = weight;
      }
    }
    return true;
  }
  void wait() {
    make_progress_until(job, [&] { return outcome == Outcome::native || is_ended; });
  }
  void run() {
    start();
    wait();
  }
  bool has_hosts_result() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (out[i] != hosts(i)) return false;
    }
    return true;
  }
};

void barrier(Job& job, host::Comm comm) {
  int error = host::success;
  EXPECT_EQ(job.collective({.operation = Operation::barrier, .comm = comm}, &error), Outcome::done);
}

TEST_F(VerifyStartedTest, OffComparesNothing) {
  options_.verify = "off";
  run_jobs(size, [&](Job& job, FakeHost& host, int) {
    for (int i = 0; i < 5; ++i) {
      Checked<std::int64_t> call{job, host};
      call.run();
      EXPECT_EQ(call.outcome, Outcome::done);
      EXPECT_TRUE(call.has_hosts_result());
    }
  });
}

TEST_F(VerifyStartedTest, OneInSoManyIsComparedByItsNumber) {
  options_.verify = "sample:3";
  for (const char* nodes : {"", "2x2"}) {
    options_.nodes = nodes;
    options_.algorithm = "allreduce:recursive_doubling";
    run_jobs(size, [&](Job& job, FakeHost& host, int) {
      for (int i = 0; i < 20; ++i) {
        Checked<std::int64_t> call{.job = job, .host = host, .is_in_place = i % 2 == 0};
        call.run();
        EXPECT_EQ(call.outcome, i % 3 == 0 ? Outcome::compared : Outcome::done);
        EXPECT_TRUE(call.has_hosts_result());
      }
    });
    EXPECT_EQ(report_text().find("quarantined"), std::string::npos);
  }
}

// Without a blocking call: the next call runs by another algorithm on all ranks.
TEST_F(VerifyStartedTest, AWrongAlgorithmIsReplacedAtTheNextCall) {
  for (const char* nodes : {"", "2x2"}) {
    for (const Operation operation : {Operation::allreduce, Operation::scan}) {
      for (const bool is_in_place : {false, true}) {
        options_.nodes = nodes;
        options_.algorithm = std::string(name(operation)) + ":faulty";
        run_jobs(size, [&](Job& job, FakeHost& host, int) {
          for (int i = 0; i < 6; ++i) {
            Checked<std::int64_t> call{
                .job = job, .host = host, .operation = operation, .is_in_place = is_in_place};
            call.run();
            EXPECT_EQ(call.outcome, i == 0 ? Outcome::compared : Outcome::done);
            EXPECT_TRUE(call.has_hosts_result()) << i;
          }
          barrier(job, host.world());
          // Decided anew, by the host or by what is checked at once.
          Checked<std::int64_t> call{.job = job, .host = host, .operation = operation};
          call.run();
          EXPECT_NE(call.outcome, Outcome::done);
        });
        const std::string what = std::string(name(operation)) + ":faulty was wrong on 4 ranks";
        ASSERT_NE(report_text().find(what), std::string::npos) << report_text();
        EXPECT_EQ(report_text().find(what), report_text().rfind(what));
        for (const auto& row : rows()) {
          if (row["algorithm"] == "faulty") {
            EXPECT_EQ(row["calls"], 1) << row;
          }
        }
        EXPECT_NE(report_text().find("was forced but is quarantined"), std::string::npos) << report_text();
      }
    }
  }
  EXPECT_EQ(files(), 2 * size);  // of each operation, the last ones
}

// Ranks come to know of it between different calls of theirs, and none waits for another.
TEST_F(VerifyStartedTest, CallsThatAreUnderWayAreReplacedOnAllRanksAlike) {
  options_.verify = "sample:16";
  options_.algorithm = "allreduce:faulty";
  constexpr int calls = 40;
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    std::deque<Checked<std::int64_t>> all;
    for (int i = 0; i < calls; ++i) {
      all.push_back({.job = job, .host = host});
      all.back().start();
      if (i % (rank + 1) == 0) job.make_progress();
      if (i == 10 * rank) all.back().wait();
    }
    for (auto& call : all) call.wait();
    for (auto& call : all) EXPECT_TRUE(call.outcome != Outcome::compared || call.has_hosts_result());
    barrier(job, host.world());
    Checked<std::int64_t> call{job, host};
    call.run();
    EXPECT_TRUE(call.outcome == Outcome::native || call.has_hosts_result());
  });
}

// Blocks stand in an order in which not every algorithm can work on them.
TEST_F(VerifyStartedTest, UnevenBlocksAreServedByAnother) {
  options_.algorithm = "allgatherv:ring";
  constexpr int calls = 4;
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    const int counts[size] = {3, 1, 0, 2}, places[size] = {3, 2, 2, 0};
    const host::Datatype type = fake_host::datatype(ElementType::int64);
    std::vector<std::int64_t> in(static_cast<std::size_t>(counts[rank]), rank + 1);
    const std::vector<std::int64_t> right{4, 4, 2, 1, 1, 1};
    struct Gathered {
      std::vector<std::int64_t> out = std::vector<std::int64_t>(6);
      bool is_ended = false;
    };
    std::deque<Gathered> all(calls);
    for (int i = 0; i < calls; ++i) {
      Gathered& gathered = all[static_cast<std::size_t>(i)];
      const Call call{
          .operation = Operation::allgatherv,
          .comm = host.world(),
          .send_blocks = {.buffer = in.data(), .count = in.size(), .type = type},
          .recv_blocks = {
              .buffer = gathered.out.data(), .counts = counts, .displacements = places, .type = type}};
      HostPart* part = nullptr;
      const Completion completion{
          [](void* context, int) { static_cast<Gathered*>(context)->is_ended = true; }, &gathered};
      const Outcome outcome = job.start(call, completion, &part);
      EXPECT_EQ(outcome, i == 0 ? Outcome::compared : Outcome::done);
      if (outcome != Outcome::compared) continue;
      // The host's is another one: so Unisono's is taken for wrong.
      job.parts().started_checks.host_has_started(
          part,
          [](void* context, int*) {
            static_cast<Gathered*>(context)->out.assign(6, -1);
            return true;
          },
          &gathered);
      while (!gathered.is_ended) job.make_progress();
    }
    for (int i = 0; i < calls; ++i) {
      Gathered& gathered = all[static_cast<std::size_t>(i)];
      while (!gathered.is_ended) job.make_progress();
      EXPECT_EQ(gathered.out, i == 0 ? std::vector<std::int64_t>(6, -1) : right);
    }
  });
  bool is_served_by_another = false;
  for (const auto& row : rows()) {
    if (row["operation"] != "allgatherv") continue;
    EXPECT_EQ(row["calls"], row["algorithm"] == "ring" ? 1 : calls - 1) << row;
    is_served_by_another = is_served_by_another || row["algorithm"] != "ring";
  }
  EXPECT_TRUE(is_served_by_another) << report_text();
}

// A rank whose host has not ended yet holds up nobody: not the calls behind, not what others wait for.
TEST_F(VerifyStartedTest, NobodyWaitsForAnothersHost) {
  FakeWorld world(size);
  std::atomic<int> ready{0};
  run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
    Checked<std::int64_t> first{.job = job, .host = host, .may_host_end = rank != 0};
    Checked<std::int64_t> second{job, host}, third{job, host};
    first.start();
    EXPECT_EQ(first.outcome, Outcome::compared);
    second.run();
    third.run();
    EXPECT_TRUE(second.has_hosts_result() && third.has_hosts_result());
    if (rank != 0) first.wait();
    EXPECT_EQ(first.is_ended, rank != 0);
    ++ready;
    while (ready != size) std::this_thread::yield();
    first.may_host_end = true;
    first.wait();
  });
}

// What no later call told the others of is said at the next blocking one, or at the end.
TEST_F(VerifyStartedTest, BlockingCallsAgreeOnWhatWasFound) {
  options_.algorithm = "allreduce:faulty";
  for (const bool has_blocking : {false, true}) {
    run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
      host::Comm other{};
      Checked<std::int64_t> call{job, host};
      call.run();
      EXPECT_TRUE(call.has_hosts_result());
      if (has_blocking) {
        std::int64_t in = rank + 1, out = 0;
        const Call blocking = sum_call(host.world(), &in, &out, 1);
        int error = host::success;
        const Outcome outcome = job.collective(blocking, &error);
        if (outcome == Outcome::compared) {
          out = 10;
          EXPECT_EQ(job.parts().blocking.compare(blocking, host::success), host::success);
        }
      }
      host.comm_split(host.world(), 0, rank, &other);
      // Its set-up knows of it.
      barrier(job, other);
      Checked<std::int64_t> there{.job = job, .host = host, .comm = other};
      there.run();
      host.comm_free(&other);
    });
    const std::string what = "allreduce:faulty was wrong on 4 ranks";
    ASSERT_NE(report_text().find(what), std::string::npos) << report_text();
    EXPECT_EQ(report_text().find(what), report_text().rfind(what)) << report_text();
  }
}

TEST_F(VerifyStartedTest, AnotherOrderOfFloatingPointIsNoFault) {
  options_.verify = "all";
  options_.is_reproducible = true;  // an order that is not the host's
  FakeWorld world(size);
  std::atomic<int> different{0};
  run_jobs(world, [&](Job& job, FakeHost& host, int) {
    for (int i = 0; i < 2; ++i) {
      Checked<double> call{.job = job, .host = host, .count = 50};
      call.run();
      EXPECT_EQ(call.outcome, Outcome::compared);
      EXPECT_EQ(call.weighed, 1);
      if (!call.has_hosts_result()) ++different;
    }
  });
  EXPECT_EQ(different, 2 * size);
  EXPECT_EQ(report_text().find("quarantined"), std::string::npos);
}

TEST_F(VerifyStartedTest, MoreThanAnOrderExplainsIsAFault) {
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    // On one rank alone.
    Checked<double> call{.job = job, .host = host, .count = 50, .shift = rank == 2 ? 1e-6 : 0};
    call.run();
    EXPECT_EQ(call.outcome, Outcome::compared);
    EXPECT_TRUE(call.has_hosts_result());
  });
  EXPECT_NE(report_text().find("is quarantined"), std::string::npos);
}

TEST_F(VerifyStartedTest, WithoutTheHostsPartNothingIsCompared) {
  run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
    std::int64_t in = rank, out = -1;
    bool is_ended = false;
    const Call call = sum_call(host.world(), &in, &out, 1);
    const Completion completion{[](void* ended, int) { *static_cast<bool*>(ended) = true; }, &is_ended};
    EXPECT_EQ(job.start(call, completion), Outcome::done);
    while (!is_ended) job.make_progress();
    EXPECT_EQ(out, 6);
  });
}

}  // namespace
}  // namespace unisono::runtime::verify_started_test
