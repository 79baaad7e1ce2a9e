// SPDX-License-Identifier: BSD-3-Clause
#include "tool/layers_answer.h"

#include <nlohmann/json.hpp>
#include <string>

#include "model/layers.h"
#include "tool/question.h"

namespace unisono::tool {

void check_layers(const schedule::Problem& problem, const std::vector<model::Candidate>& asked) {
  if (problem.layout->nodes() < 2 || problem.layout->nodes() == problem.size)
    throw UsageError("--model layers: of several nodes of several ranks: give a --layout such as 4x8");
  if (asked.empty())
    throw UsageError("--model layers: " + std::string(name(problem.operation)) +
                     " has no two-level algorithm whose layers are collectives by themselves");
  for (const model::Candidate& candidate : asked) {
    if (candidate.algorithm == nullptr || !model::has_layers(*candidate.algorithm))
      throw UsageError("--model layers: of two-level algorithms alone, two_level_binomial for example");
    if (candidate.parameters.get_or("overlap", 0) != 0)
      throw UsageError("--model layers: of layers that do not overlap: " + candidate.algorithm->name +
                       "(overlap=0)");
  }
}

std::vector<model::Candidate> layered_candidates(Operation operation, std::int64_t bytes) {
  std::vector<model::Candidate> all;
  for (model::Candidate& candidate : model::candidates_for(operation, bytes)) {
    if (candidate.algorithm == nullptr || !model::has_layers(*candidate.algorithm)) continue;
    if (candidate.parameters.get_or("overlap", 0) != 0) candidate.parameters.set("overlap", 0);
    all.push_back(std::move(candidate));
  }
  return all;
}

void add_layers(const model::Prediction& run, const schedule::Problem& problem, std::int64_t bytes,
                const model::Machine& machine, const model::PredictOptions& options,
                nlohmann::ordered_json* json) {
  nlohmann::ordered_json& to = *json;
  to["virtual_us"] = to["us"];
  if (!run.problem.empty()) return;
  const auto layers = model::layers_of(run.candidate, problem, bytes, machine, options);
  to["us"] = nullptr;
  to["problem"] = layers ? "" : "one of its layers cannot run by itself";
  if (!layers) return;
  double sum_us = 0;
  for (const model::Layer& layer : *layers) {
    sum_us += layer.us;
    to["layers"].push_back({{"operation", name(layer.operation)},
                            {"algorithm", layer.algorithm},
                            {"between_nodes", layer.is_between_nodes},
                            {"bytes", layer.bytes},
                            {"us", layer.us}});
  }
  to["us"] = sum_us;
}

}  // namespace unisono::tool
