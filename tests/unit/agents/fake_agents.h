// SPDX-License-Identifier: BSD-3-Clause
// Agents as ranks of a fake MPI, threads of the test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "agents/agent.h"
#include "fake_host/fake_host.h"
#include "shm/pool/segment.h"

namespace unisono::agents {

inline std::string new_job() {
  return std::to_string(shm::draw_nonce());
}

// Those of so many nodes, as long as this lives or their ranks are there.
class FakeAgents {
 public:
  explicit FakeAgents(int nodes, fake_host::Options options = {}) : job(new_job()) {
    options.deadlock_seconds = 120;
    thread_ = std::thread([this, nodes, options] {
      fake_host::FakeWorld world(nodes, options);
      world.run([this](fake_host::FakeHost& host, int) {
        const std::string why = run(host, {.job = job, .must_end = &must_end});
        EXPECT_EQ(why, "");
      });
      EXPECT_EQ(world.leftovers(), "");
      has_ended = true;
    });
  }
  ~FakeAgents() {
    must_end = true;
    thread_.join();
  }
  FakeAgents(const FakeAgents&) = delete;

  const std::string job;
  std::atomic<bool> must_end{false}, has_ended{false};

 private:
  std::thread thread_;
};

}  // namespace unisono::agents
