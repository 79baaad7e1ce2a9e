// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/prediction.h"

#include "patterns/neighborhood.h"

namespace unisono::tuning {

std::optional<double> predicted_us(const Question& question, const model::Candidate& candidate,
                                   const model::Machine& machine, std::int64_t most_steps) {
  // A rank knows the neighbours of its own node's ranks at most, and the model plays all ranks.
  if (is_neighborhood(question.problem.operation) &&
      (question.problem.neighborhood == nullptr || !question.problem.neighborhood->is_whole()))
    return std::nullopt;
  const model::PredictOptions options{.has_shared_memory = question.has_shared_memory,
                                      .has_single_copy = question.has_single_copy,
                                      .is_blocking = question.is_blocking,
                                      .most_pieces = most_steps,
                                      .most_pieces_of_node = most_steps};
  const model::Prediction prediction =
      model::predict(candidate, question.problem, question.bytes(), machine, options);
  return prediction.problem.empty() ? std::optional(prediction.us) : std::nullopt;
}

}  // namespace unisono::tuning
