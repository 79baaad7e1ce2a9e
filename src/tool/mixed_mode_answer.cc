// SPDX-License-Identifier: BSD-3-Clause
#include "tool/mixed_mode_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "model/mixed_mode.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

constexpr const char* chain = "two_level_chain";

}  // namespace

void check_mixed_mode(const schedule::Problem& problem, const std::vector<model::Candidate>& asked) {
  if (problem.operation != Operation::bcast)
    throw UsageError("--model mixed: its equations are those of a broadcast along a chain of nodes: bcast");
  if (problem.layout->nodes() < 2)
    throw UsageError("--model mixed: its equations are those of several nodes: give a --layout such as 4x8");
  for (const model::Candidate& candidate : asked) {
    if (candidate.algorithm == nullptr || candidate.algorithm->name != chain)
      throw UsageError(std::string("--model mixed: its equations are those of ") + chain + " alone");
  }
}

std::vector<model::Candidate> mixed_mode_candidates(std::int64_t bytes) {
  constexpr std::int64_t least = 16 << 10, most = 4 << 20;
  const algorithms::Descriptor& algorithm = *algorithms::find(Operation::bcast, chain);
  std::vector<model::Candidate> all;
  for (std::int64_t segment = least; segment <= most && (segment == least || segment < bytes); segment *= 4) {
    for (std::int64_t overlap = segment; overlap >= segment / 8; overlap /= 2) {
      model::Candidate& made = all.emplace_back(model::Candidate{&algorithm, with_standards(algorithm)});
      made.parameters.set("segment", segment);
      if (overlap < segment) made.parameters.set("overlap", overlap);
    }
  }
  return all;
}

void add_mixed_mode(const model::Prediction& run, const schedule::Problem& problem, std::int64_t bytes,
                    const model::Machine& machine, const model::PredictOptions& options,
                    nlohmann::ordered_json* json) {
  const algorithms::Parameters& parameters = run.candidate.parameters;
  const auto mixed = model::mixed_mode(machine, *problem.layout, bytes, parameters.get("segment"),
                                       parameters.get("overlap"), options);
  nlohmann::ordered_json& to = *json;
  to["virtual_us"] = to["us"];
  to["us"] = nullptr;
  const bool may_run = run.problem.empty() || run.expected > 0;
  if (!may_run) return;
  to["virtual_problem"] = to["problem"];
  to["problem"] = mixed ? "" : "shared memory would take too many steps to run";
  if (!mixed) return;
  to["us"] = mixed->expected_us();
  to["mode"] = mixed->mode();
  to["equations"] = {{"4.1", mixed->one_segment_us()},  {"4.2", mixed->one_penalized_segment_us()},
                     {"4.3", mixed->overlapping_us()},  {"4.4", mixed->complete_overlapping_us()},
                     {"4.5", mixed->penalty_mode_us()}, {"4.6", mixed->penalty_bound_us()}};
  to["terms"] = {{"p", mixed->nodes},
                 {"k", mixed->segments},
                 {"m_i", mixed->segment_bytes},
                 {"m_s", mixed->overlapped_bytes},
                 {"m_r", mixed->remaining_bytes},
                 {"inter_node_us", mixed->inter_node_us},
                 {"L_us", mixed->latency_us},
                 {"g_us", mixed->gap_us},
                 {"os_us", mixed->send_us},
                 {"smcc_s_us", mixed->overlapped_us},
                 {"smcc_r_us", mixed->remaining_us},
                 {"ovp_us", mixed->penalty_us}};
}

}  // namespace unisono::tool
