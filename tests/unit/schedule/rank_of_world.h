// SPDX-License-Identifier: BSD-3-Clause
// One rank of a fake world with an executor of its own.
#pragma once

#include <memory>
#include <vector>

#include "fake_host/fake_host.h"
#include "patterns/layout.h"
#include "schedule/executor.h"

namespace unisono::schedule {

inline Problem problem_on_node(Operation operation, int size, int rank) {
  return {.operation = operation,
          .size = size,
          .rank = rank,
          .layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(size)),
          .blocks = {}};
}

class RankOfWorld {
 public:
  RankOfWorld(fake_host::FakeHost& host, int rank) : rank_(rank) {
    host.translate_ranks(host.world(), host.world(), &ranks_);
    ground_ = {.host = &host, .comm = host.world(), .rank_in_comm = ranks_.data(), .wait = &wait_};
  }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  int run(const Compiled& compiled, const Data& data) { return executor_.run(compiled, ground_, data); }
  Executor& executor() { return executor_; }
  const Ground& ground() const { return ground_; }

 private:
  int rank_;
  std::vector<int> ranks_;
  shm::WaitConfig wait_{.policy = shm::WaitPolicy::yield};
  Ground ground_;
  Executor executor_;
};

}  // namespace unisono::schedule
