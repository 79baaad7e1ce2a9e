// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "patterns/layout.h"
#include "schedule/executor.h"
#include "simgrid/buffers.h"
#include "simgrid/smpi_host.h"

namespace unisono::simgrid {

// One rank's part of Unisono: an algorithm's schedule, as the executor runs it. Each rank has a node to
// itself.
class Schedules {
 public:
  Schedules(int rank, int size);
  // Makes the schedule; throws std::runtime_error where the algorithm is none, or not for such calls.
  void prepare(const Call& call, const std::string& algorithm);
  void run(Buffers* buffers);

 private:
  void run_program(const schedule::Compiled& program, const schedule::Data& data);
  SmpiHost host_;
  std::shared_ptr<const patterns::Layout> layout_;
  std::vector<int> ranks_;
  schedule::Executor executor_;
  Call call_;
  std::shared_ptr<const schedule::Compiled> header_,
      program_;  // header: of blocks whose lengths travel first
  std::vector<std::int64_t> starts_, header_output_;
};

}  // namespace unisono::simgrid
