// SPDX-License-Identifier: BSD-3-Clause
// Records of a rank with something in every field.
#pragma once

#include "runtime/reports/rank_records.h"

namespace unisono::runtime {

inline LearnedKind some_kind() {
  return {.communicator = 3,
          .shape = "8 ranks on 2 nodes",
          .layout = "2x4",
          .is_oversubscribed = true,
          .operation = Operation::allreduce,
          .size_class = 11,
          .region = "solve",
          .compared = Compared::longest,
          .calls = 5000,
          .agreements = 12,
          .chosen = "ring",
          .time_s = 20e-6,
          .usual = {"recursive_doubling", {}},
          .is_compared_with_usual = true,
          .uncertainty = 0.05,
          .trial_loss_s = 1e-3,
          .measuring_overhead_s = 2e-3,
          .monitoring_overhead_s = 3e-3,
          .candidates = {{{"native", {}}, false, 100, 20, 60e-6, 50e-6},
                         {{"ring", {{"segment", 4096}}}, true, 4800, 40, 20e-6, 19e-6},
                         {{"recursive_doubling", {}}, false, 100, 20, 40e-6}},
          .untried = {"rabenseifner"},
          .timeline = {{0, "native", false, "to begin with"}, {40, "ring", true, "on trial"}}};
}

inline RankRecords some_records() {
  RankRecords records{.blocking_s = 2, .blocking_error_s = 0.1, .under_way_s = 0.5};
  records.classes.push_back(
      {.key = {"8 ranks on 2 nodes", Operation::allreduce, 11, "ring", CallForm::blocking},
       .layout = "2x4",
       .is_oversubscribed = true,
       .calls = 5000,
       .bytes = 5000 * 1024,
       .checks = 7,
       .mismatches = 1,
       .time_s = 2,
       .time_error_s = 0.1,
       .is_sampled = true,
       .parameters = {{"segment", 4096}},
       .reason = "is fastest",
       .source = "learned"});
  records.graphs.push_back({.communicator = 3,
                            .layout = "2x4",
                            .size = 8,
                            .rank = 2,
                            .ins = 1,
                            .outs = 3,
                            .destinations = {1, 3, 3}});
  records.profile = RankProfile{
      .run_s = 10,
      .threads = 1,
      .functions = {
          {.name = "MPI_Send",
           .kind = FunctionKind::point_to_point,
           .is_sending = true,
           .is_estimated = true,
           .cells = {
               {.size_class = 4, .distance = Distance::other_node, .calls = 9, .bytes = 72, .time_s = 3}}}}};
  records.by_agents.push_back({Operation::barrier, "mpi", 12});
  records.agent_times = {.calls = 9, .under_way_s = 0.5, .waited_s = 0.25};
  records.native.push_back({Operation::bcast, "an intercommunicator", 4});
  records.communicators.push_back({3, "caf\xc3\xa9 \xff", "4", 8, 2, 5004});
  records.learned.kinds.push_back(some_kind());
  records.learned.leans.push_back({.file = "2x4.json",
                                   .number = 2,
                                   .when = {.operation = Operation::allreduce,
                                            .bytes = {513, 1024},
                                            .is_commutative = true,
                                            .region = "solve"},
                                   .confirmation = tuning::Confirmation::confirmed});
  return records;
}

}  // namespace unisono::runtime
