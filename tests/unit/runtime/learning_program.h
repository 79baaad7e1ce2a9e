// SPDX-License-Identifier: BSD-3-Clause
// Jobs over the fake host that learn: what their tests have in common.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"

namespace unisono::runtime {

class LearningTest : public ReportedTest {
 protected:
  // Programs of few calls: they need not earn what learning takes.
  LearningTest() {
    options_.learn_budget = 100;
    options_.learn_factor = 2;
  }
  // What was learned stands in the cache as if nothing had disturbed this machine meanwhile: what it had is
  // not believed where times were those of a busy one.
  void take_for_a_quiet_day() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/cache")) {
      if (entry.path().extension() != ".json") continue;
      Json table = Json::parse(std::ifstream(entry.path()));
      for (Json& rule : table["rules"]) {
        rule["time_us"] = rule["least_us"] = 1;
        rule["evidence"]["uncertainty"] = 0.05;
        rule["evidence"]["trust"] = 3;
        for (Json& other : rule["others"]) other["time_us"] = other["least_us"] = 10;
      }
      std::ofstream(entry.path()) << table;
    }
  }
};

// What a rank does with what Unisono leaves to the host: the test stands for the host's collectives.
struct LearningRank {
  Job& job;
  FakeHost& host;
  int rank, size;
  host::Comm comm = host.world();
  std::vector<Outcome> outcomes{};

  Outcome call(Operation operation, std::size_t count, bool is_blocking = true, double native_s = 1e-6) {
    std::vector<std::int64_t> in(count, rank + 1), out(count);
    const Call call{.operation = operation,
                    .comm = comm,
                    .send_buffer = in.data(),
                    .recv_buffer = operation == Operation::bcast ? in.data() : out.data(),
                    .send_count = count,
                    .send_type = fake_host::datatype(ElementType::int64),
                    .op = fake_host::op(ReduceOp::sum)};
    int error = host::success;
    const Outcome outcome = is_blocking ? job.collective(call, &error) : start_and_wait(job, call, &error);
    EXPECT_EQ(error, host::success);
    if (outcome == Outcome::native_timed) BlockingCalls::native_finished(native_s);
    if (outcome == Outcome::done && operation == Operation::allreduce) {
      EXPECT_EQ(out, std::vector<std::int64_t>(count, std::int64_t{size} * (size + 1) / 2));
    }
    if (outcome == Outcome::done && operation == Operation::bcast) {
      EXPECT_EQ(in, std::vector<std::int64_t>(count, 1));
    }
    outcomes.push_back(outcome);
    return outcome;
  }
};

}  // namespace unisono::runtime
