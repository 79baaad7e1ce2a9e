// SPDX-License-Identifier: BSD-3-Clause
// Runs a collective on all ranks in virtual time (B7). The programs' own steps run in the order that their
// dependencies allow, on what a machine has: cores, ports, network cards, memory, flags. docs/guide/models.md
// says what is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/live_steps.h"
#include "model/machine.h"
#include "model/noise.h"
#include "schedule/program.h"

namespace unisono::model {

class Recorder;

// The ranks that are run, each for itself or (symmetry.h) for all that do the same at the same time.
struct Crew {
  std::vector<int> ranks;                      // by index: the rank that is run
  std::function<int(int rank)> index_of;       // of any rank
  std::vector<std::vector<int>> indices_of;    // node -> its ranks' indices, by local rank
  std::vector<int> node_of, local_rank_of;     // by index
  std::function<bool(int a, int b)> is_apart;  // are two ranks on different nodes?
  bool is_for_others = false;                  // are there more ranks than are run?
};
Crew everyone(std::shared_ptr<const patterns::Layout> layout);
// How many ranks use the cores of each machine.nodes_on_cores nodes that follow each other; `ranks_of` has
// each node's.
std::vector<std::size_t> ranks_on_cores(const std::vector<std::vector<int>>& ranks_of,
                                        const Machine& machine);

struct Outcome {
  double us = 0;                  // until the last rank is done
  std::int64_t pieces = 0;        // of steps that were run
  std::int64_t most_waiting = 0;  // steps held at a time, all ranks together
  std::string problem;            // why it did not come to its end; else empty
  std::vector<double> ends;       // by index: when the rank's last step was done
};

struct RunOptions {
  MessageModel model = MessageModel::plogp;
  std::int64_t most_pieces = std::int64_t{1} << 62;  // give up after so many
  int most_waiting = 12;                             // of a rank, before further rounds are asked for
  bool is_compiled = false;                          // go by the executor's own dependencies
  int calls = 1;                                     // of a rank, each begun when it is done with the last
  std::function<void(std::int64_t pieces)> progress = {};  // now and then
  std::vector<double> begins = {};                         // by index, of its call; empty: all at 0
  Cores* cores = nullptr;                                  // by index: noise, slow cores; null: none
  std::vector<bool> on_agents = {};                        // by index: run by the node's agent; empty: none
  Recorder* recorder = nullptr;                            // is told what waits for what (virtual_recorder.h)
};

using BuildProgram = std::function<schedule::Program(const schedule::Problem&)>;

// `problem` with the layout of all ranks; its rank does not count.
Outcome run_in_virtual_time(const schedule::Problem& problem, const BuildProgram& build, const CallSize& size,
                            const Machine& machine, const Crew& crew, const RunOptions& options = {});

}  // namespace unisono::model
