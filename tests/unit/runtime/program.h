// SPDX-License-Identifier: BSD-3-Clause
// A program of several ranks over the fake host, as tests of whole calls write it. It has options, a job on
// each rank, communicators, and calls with what must come of them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/options.h"
#include "fake_host/fake_host.h"
#include "runtime/job.h"
#include "runtime/job_parts.h"

namespace unisono::runtime {

using fake_host::FakeHost;
using fake_host::FakeWorld;
using Json = nlohmann::json;

// Those of a program that sets none, with little memory for each rank: what runs is the rules' choice, or the
// test's, from the first call on.
inline Options quiet_options() {
  Options options;
  options.log = "quiet";
  options.cache = "";
  options.learn = "off";
  options.set_up_after = 0;  // each test makes few calls
  options.pool_bytes = 64 << 20;
  options.channel_bytes = 64 << 10;
  options.is_channel_bytes_given = true;
  return options;
}

class ProgramTest : public ::testing::Test {
 protected:
  // On each rank of the world `body(job, host, rank)`, in a job under the test's options. No message may be
  // left over.
  template <class Body>
  void run_jobs(FakeWorld& world, Body body) const {
    world.run([&](FakeHost& host, int rank) {
      Job job(host, options_);
      body(job, host, rank);
      job.finish();
    });
    EXPECT_EQ(world.leftovers(), "");
  }
  template <class Body>
  void run_jobs(int ranks, Body body, const fake_host::Options& fake = {}) const {
    FakeWorld world(ranks, fake);
    run_jobs(world, body);
  }

  Options options_ = quiet_options();
};

// Jobs that write their report, and whatever else they leave, into a folder of the test's own.
class ReportedTest : public ProgramTest {
 protected:
  ReportedTest() { options_.report = folder_ + "/report.json"; }
  ~ReportedTest() override { std::filesystem::remove_all(folder_); }

  // The one of the last job.
  Json report() const { return Json::parse(std::ifstream(options_.report)); }

  const std::string folder_ = [] {
    std::string name = ::testing::TempDir() + "unisono_program.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    return name;
  }();
};

// A communicator of those with one color, in the order of the world.
inline host::Comm split(FakeHost& host, int color = 0) {
  host::Comm made{};
  EXPECT_EQ(host.comm_split(host.world(), color, host.comm_rank(host.world()), &made), host::success);
  return made;
}

template <class Number>
host::Datatype type_of() {
  if constexpr (std::is_same_v<Number, float>) return fake_host::datatype(ElementType::float32);
  if constexpr (std::is_same_v<Number, double>) return fake_host::datatype(ElementType::float64);
  if constexpr (std::is_same_v<Number, std::int32_t>) return fake_host::datatype(ElementType::int32);
  if constexpr (std::is_same_v<Number, std::int64_t>) return fake_host::datatype(ElementType::int64);
}

// The sum of all ranks' numbers, on all ranks.
template <class Number>
Call sum_call(host::Comm comm, const Number* in, Number* out, std::size_t count) {
  return {.operation = Operation::allreduce,
          .comm = comm,
          .send_buffer = in,
          .recv_buffer = out,
          .send_count = count,
          .recv_count = count,
          .send_type = type_of<Number>(),
          .recv_type = type_of<Number>(),
          .op = fake_host::op(ReduceOp::sum)};
}

// Calls that tests tell apart by their number: allreduces and broadcasts, with what must come out.
struct Numbers {
  std::vector<std::int64_t> in, out;
  std::int64_t expected = 0;

  void expect_result() const {
    for (const std::int64_t value : out) ASSERT_EQ(value, expected);
  }
};

// Call number `number` on `comm`, the same on all its ranks.
inline Call numbered_call(FakeHost& host, host::Comm comm, int number, std::size_t count, Numbers* numbers) {
  const int rank = host.comm_rank(comm), size = host.comm_size(comm);
  numbers->in.assign(count, number + rank);
  numbers->out.assign(count, -1);
  Call call = sum_call(comm, numbers->in.data(), numbers->out.data(), count);
  numbers->expected = std::int64_t{number} * size + size * (size - 1) / 2;
  if (number % 3 == 0) {
    call.operation = Operation::bcast;
    call.root = number % size;
    numbers->expected = number + call.root;
    numbers->out = numbers->in;
    call.send_buffer = call.recv_buffer = numbers->out.data();
  }
  return call;
}

template <class IsOver>
void make_progress_until(Job& job, IsOver is_over) {
  while (!is_over()) {
    job.make_progress();
    std::this_thread::yield();
  }
}

// The end of a call that does not block; several threads of a rank may let it go on.
struct End {
  std::atomic<bool> is_ended{false};
  int error = host::success;

  Completion completion() {
    return {[](void* context, int code) {
              auto* end = static_cast<End*>(context);
              end->error = code;
              end->is_ended = true;
            },
            this};
  }
  void wait(Job& job) const {
    make_progress_until(job, [&] { return is_ended.load(); });
  }
};

// A call that does not block, waited for at once.
inline Outcome start_and_wait(Job& job, const Call& call, int* error) {
  End end;
  const Outcome outcome = job.start(call, end.completion());
  if (outcome == Outcome::done) end.wait(job);
  *error = end.error;
  return outcome;
}

// A numbered call that does not block.
struct Started : Numbers, End {};

// One rank's calls that are all to be Unisono's.
class Rank {
 public:
  Rank(Job& job, FakeHost& host) : job_(job), host_(host) {}

  Call prepare(Numbers* numbers, host::Comm comm, int number, std::size_t count) {
    return numbered_call(host_, comm, number, count, numbers);
  }
  void start(Started* started, const Call& call) {
    ASSERT_EQ(job_.start(call, started->completion()), Outcome::done);
  }
  void wait(const Started& started) {
    started.wait(job_);
    EXPECT_EQ(started.error, host::success);
    started.expect_result();
  }
  void run_blocking(const Numbers& numbers, const Call& call) {
    int error = host::success;
    ASSERT_EQ(job_.collective(call, &error), Outcome::done);
    EXPECT_EQ(error, host::success);
    numbers.expect_result();
  }
  void run_blocking(host::Comm comm, int number, std::size_t count = 5) {
    Numbers numbers;
    const Call call = prepare(&numbers, comm, number, count);
    run_blocking(numbers, call);
  }
  void barrier(host::Comm comm) {
    int error = host::success;
    ASSERT_EQ(job_.collective({.operation = Operation::barrier, .comm = comm}, &error), Outcome::done);
  }

 protected:
  Job& job_;
  FakeHost& host_;
};

}  // namespace unisono::runtime
