// SPDX-License-Identifier: BSD-3-Clause
// Agents as ranks of a fake MPI, threads of the test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agents/agent.h"
#include "base/clock.h"
#include "fake_host/fake_host.h"
#include "shm/pool/segment.h"

namespace unisono::agents {

inline std::string new_job() {
  return std::to_string(shm::draw_nonce());
}

// Those of so many nodes, as long as this lives or their ranks are there.
class FakeAgents {
 public:
  explicit FakeAgents(int nodes, fake_host::Options options = {}, LifeOptions life = {}) : job(new_job()) {
    options.deadlock_seconds = 120;
    life.job = job;
    life.must_end = &must_end;
    thread_ = std::thread([this, nodes, options, life] {
      fake_host::FakeWorld world(nodes, options);
      world.run([this, &life](fake_host::FakeHost& host, int) {
        const std::string why = run(host, host.world(), life);
        if (why.empty()) return;
        const std::lock_guard lock(mutex_);
        failures_.push_back(why);
      });
      if (failures_.empty() && !may_leave_messages) {
        EXPECT_EQ(world.leftovers(), "");
      }
      has_ended = true;
    });
  }
  ~FakeAgents() {
    // In good order where their ranks have left.
    const double deadline_s = now_s() + 2;
    while (!must_end && !has_ended && now_s() < deadline_s) std::this_thread::yield();
    end();
    EXPECT_EQ(failures_, expected_failures);
  }
  // Ends them. Returns why agents could not serve, one after the other.
  const std::vector<std::string>& end() {
    must_end = true;
    if (thread_.joinable()) thread_.join();
    return failures_;
  }
  FakeAgents(const FakeAgents&) = delete;

  const std::string job;
  std::atomic<bool> must_end{false}, has_ended{false};
  std::vector<std::string> expected_failures;
  std::atomic<bool> may_leave_messages{false};  // that nobody receives any more

 private:
  std::mutex mutex_;
  std::vector<std::string> failures_;
  std::thread thread_;
};

}  // namespace unisono::agents
