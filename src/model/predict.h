// SPDX-License-Identifier: BSD-3-Clause
// How long an algorithm would take, and which would be fastest: what decides without a measurement, and what
// prunes before one (A7, B7).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "model/machine.h"
#include "model/virtual_time.h"
#include "schedule/program.h"

namespace unisono::model {

inline constexpr std::int64_t standard_many_steps = 400'000;

struct PredictOptions {
  MessageModel model = MessageModel::plogp;
  bool has_shared_memory = true;
  bool has_single_copy = true;
  bool is_blocking = true;  // may the call wait inside?
  // Of steps: an algorithm that takes more is not predicted. Where one node is run for all, the steps held
  // are few, and each is run much sooner.
  std::int64_t most_pieces = 60'000'000;
  std::int64_t most_pieces_of_node = 240'000'000;
  std::int64_t many_steps =
      standard_many_steps;  // from so many on one node is run for all, where that is the same
  // rank(): for those that `native` may be taken to be, which all others are compared with, so many times
  // more.
  std::int64_t textbook_factor = 1;
  std::function<void(double share)> progress = {};  // of the work, now and then
  // rank(): is the time over? What takes few steps is run first then, and what there is no time for is left.
  std::function<bool()> is_over = {};
};

struct Candidate {
  const algorithms::Descriptor* algorithm = nullptr;  // null: native
  algorithms::Parameters parameters;
  bool operator==(const Candidate&) const = default;
};

struct Prediction {
  Candidate candidate;
  double us = 0;
  std::string problem;     // why there is no time: illegal, or too much to run; else empty
  std::string stands_for;  // native: the algorithm that it is taken to be
  std::vector<std::string>
      not_run;                    // native: others that it might be, which would have taken too long to run
  std::int64_t expected = 0;      // of steps, before they are run; 0: it may not run
  std::int64_t pieces = 0;        // of steps that were run
  std::int64_t most_waiting = 0;  // steps held at a time
  bool is_for_all_nodes = false;  // one node was run for all
};

// A call as the model runs it.
struct Prepared {
  std::string problem;  // why it may not run; else empty
  BuildProgram build;   // may not outlive the descriptor
  CallSize size;
};
Prepared prepare(const Candidate& candidate, const schedule::Problem& problem, std::int64_t bytes,
                 const Machine& machine, const PredictOptions& options);
// Do ranks have to take turns on their cores?
bool is_sharing_cores(const patterns::Layout& layout, const Machine& machine);

// `bytes` as size classes count them (tuning/decisions/size_class.h): a vector, or one block. The problem's
// rank does not count. Some 0.1 to 1 ms for 16 ranks and a usual algorithm.
Prediction predict(const Candidate& candidate, const schedule::Problem& problem, std::int64_t bytes,
                   const Machine& machine, const PredictOptions& options = {});
// The time alone; empty where the algorithm is not legal or takes too many steps.
std::optional<double> predict_us(const algorithms::Descriptor& algorithm,
                                 const algorithms::Parameters& parameters, const schedule::Problem& problem,
                                 std::int64_t bytes, const Machine& machine,
                                 const PredictOptions& options = {});

// The host's own collective shows nobody its structure. It is taken to be the best of the textbooks'
// algorithms for the operation, over messages, with standard parameters.
Prediction predict_native(const schedule::Problem& problem, std::int64_t bytes, const Machine& machine,
                          const PredictOptions& options = {});

// Every algorithm of the operation, each with the settings that are worth a try for so many bytes, and
// native. These settings are the standard parameters, and segments from 8 KiB to 1 MiB where the algorithm
// has them.
std::vector<Candidate> candidates_for(Operation operation, std::int64_t bytes);

// All candidates, fastest first; those without a time at the end, with their problem. Of an algorithm that is
// illegal, or took long, the settings that follow are left out.
std::vector<Prediction> rank(const std::vector<Candidate>& candidates, const schedule::Problem& problem,
                             std::int64_t bytes, const Machine& machine, const PredictOptions& options = {});

}  // namespace unisono::model
