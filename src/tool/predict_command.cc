// SPDX-License-Identifier: BSD-3-Clause
// Predicts how long algorithms take on a described machine, and ranks them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.h"
#include "model/machine.h"
#include "model/predict.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/layers_answer.h"
#include "tool/layouts.h"
#include "tool/machines.h"
#include "tool/mixed_mode_answer.h"
#include "tool/question.h"
#include "tuning/decisions/algorithm_text.h"

namespace unisono::tool {
namespace {

using algorithms::ParameterSpec;
using model::Candidate;
using model::Machine;
using model::Prediction;
using nlohmann::ordered_json;
using std::chrono::steady_clock;

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
constexpr const char* mixed_model = "mixed";
constexpr const char* layers_model = "layers";

std::int64_t bytes_of(const std::string& text, const std::string& what) {
  const std::int64_t bytes = bytes_from_text(text);
  if (bytes < 0 || bytes > most_bytes) {
    throw UsageError(what + " takes a size such as 8, 64K or 1M, not '" + text + "'");
  }
  return bytes;
}

// "ring(segment=64K,window=2)", as option `algorithm` has it behind the colon.
Candidate candidate_from(Operation operation, const std::string& text) {
  const tuning::ReadAlgorithm read = tuning::algorithm_from_text(operation, text);
  if (!read.problem.empty()) throw UsageError(read.problem);
  const auto& [algorithm, parameters] = read.named;
  if (algorithm == nullptr) return {};
  return {algorithm, with_standards(*algorithm, parameters)};
}

// As option `algorithm` takes it; standard parameters are left out.
std::string text_of(const Candidate& candidate) {
  if (candidate.algorithm == nullptr) return "native";
  std::string inside;
  for (const ParameterSpec& spec : candidate.algorithm->parameters) {
    const std::int64_t value = candidate.parameters.get_or(spec.name, spec.standard);
    if (value == spec.standard) continue;
    const std::string key(spec.name);
    inside += (inside.empty() ? "" : ",") + key + "=" + bytes_to_text(value);
  }
  return candidate.algorithm->name + (inside.empty() ? "" : "(" + inside + ")");
}

// What was asked for, as it was written.
struct Asked {
  Candidate candidate;
  std::string text;
};

ordered_json to_json(const Prediction& prediction, const std::vector<Asked>& asked) {
  const algorithms::Descriptor* algorithm = prediction.candidate.algorithm;
  ordered_json json = {{"algorithm", algorithm != nullptr ? algorithm->name : std::string("native")},
                       {"text", text_of(prediction.candidate)}};
  const auto found = std::ranges::find(asked, prediction.candidate, &Asked::candidate);
  if (found != asked.end()) json["asked"] = found->text;
  json["parameters"] = ordered_json::object();
  for (const auto& [key, value] : prediction.candidate.parameters.values()) json["parameters"][key] = value;
  json["us"] = prediction.problem.empty() ? ordered_json(prediction.us) : ordered_json(nullptr);
  json["problem"] = prediction.problem;
  if (!prediction.stands_for.empty()) json["stands_for"] = prediction.stands_for;
  if (!prediction.not_run.empty()) json["not_run"] = prediction.not_run;
  json["steps"] = prediction.pieces;
  json["most_waiting"] = prediction.most_waiting;
  json["is_for_all_nodes"] = prediction.is_for_all_nodes;
  return json;
}

model::PredictOptions chosen_options(const Arguments& arguments) {
  model::PredictOptions options;
  const std::string wanted = arguments.text("model", name(options.model));
  const auto known = model::message_model_from_name(wanted);
  if (!known && wanted != mixed_model && wanted != layers_model)
    throw UsageError("--model " + wanted + ": there are hockney, logp, loggp, plogp, mixed, layers");
  options.model = known.value_or(options.model);
  // All algorithms of a large job would take long.
  constexpr std::int64_t steps_of_many = 5'000'000;
  const std::int64_t ratio = options.most_pieces_of_node / options.most_pieces;
  const std::int64_t standard = arguments.has("algorithm") ? options.most_pieces : steps_of_many;
  if (!arguments.has("steps")) options.textbook_factor = options.most_pieces / standard;
  options.most_pieces = arguments.number("steps", 1, std::int64_t{1} << 40, standard);
  options.most_pieces_of_node = options.most_pieces * ratio;
  options.has_shared_memory = !arguments.has("no-shared-memory");
  options.has_single_copy = !arguments.has("no-single-copy");
  return options;
}

// What is asked of each size.
struct Request {
  Machine machine;
  schedule::Problem problem;
  std::vector<Asked> asked;  // empty: all that are worth a look
  bool is_mixed = false;     // by the equations of section 4.5
  bool is_layered = false;   // as the sum of layers, section 4.3.3
};

std::vector<Candidate> candidates_of(const Request& request, std::int64_t bytes) {
  std::vector<Candidate> candidates;
  for (const Asked& one : request.asked) candidates.push_back(one.candidate);
  if (!candidates.empty()) return candidates;
  if (request.is_mixed) return mixed_mode_candidates(bytes);
  return request.is_layered ? layered_candidates(request.problem.operation, bytes)
                            : model::candidates_for(request.problem.operation, bytes);
}

ordered_json predictions_of(const Request& request, std::int64_t bytes,
                            const model::PredictOptions& options) {
  const auto& [machine, problem, asked, is_mixed, is_layered] = request;
  const std::vector<Candidate> candidates = candidates_of(request, bytes);
  std::vector<ordered_json> predictions;
  if (!is_mixed && !is_layered) {
    for (const Prediction& one : model::rank(candidates, problem, bytes, machine, options))
      predictions.push_back(to_json(one, asked));
    return predictions;
  }
  // Each by itself: of settings that take long in virtual time the equations say something all the same.
  for (const Candidate& candidate : candidates) {
    const Prediction run = model::rank({candidate}, problem, bytes, machine, options).front();
    predictions.push_back(to_json(run, asked));
    (is_mixed ? add_mixed_mode : add_layers)(run, problem, bytes, machine, options, &predictions.back());
  }
  std::ranges::stable_sort(predictions, {}, [](const ordered_json& one) {
    return one["us"].is_null() ? HUGE_VAL : one["us"].get<double>();
  });
  return predictions;
}

}  // namespace

int predict_algorithms(const std::vector<std::string>& words) {
  const Arguments arguments(words,
                            {"operation", "ranks", "layout", "topology", "graph", "root", "bytes", "machine",
                             "algorithm", "model", "steps", "time-ms"},
                            {"progress", "no-shared-memory", "no-single-copy"});
  const Operation operation = arguments.operation("operation");
  Request request;
  request.machine = chosen_machine(arguments.text("machine", model::default_machine().name));
  request.is_mixed = arguments.text("model", "") == mixed_model;
  request.is_layered = arguments.text("model", "") == layers_model;
  schedule::Problem& problem = request.problem;
  problem.operation = operation;
  problem.layout = chosen_layout(arguments, 8, most_described_ranks);
  problem.size = problem.layout->size();
  problem.neighborhood = chosen_graph(arguments, operation, problem.size);
  problem.root =
      static_cast<int>(arguments.number("root", 0, is_rooted(operation) ? problem.size - 1 : 0, 0));
  model::PredictOptions options = chosen_options(arguments);
  if (arguments.has("progress")) {
    constexpr auto interval = std::chrono::milliseconds(200);
    options.progress = [last = steady_clock::now(), interval](double share) mutable {
      const auto now = steady_clock::now();
      if (now - last < interval) return;
      last = now;
      print_line({{"progress", share}});
    };
  }
  for (const std::string& text : arguments.all("algorithm"))
    request.asked.push_back({candidate_from(operation, text), text});
  if (request.is_mixed) check_mixed_mode(problem, candidates_of(request, 0));
  if (request.is_layered) check_layers(problem, candidates_of(request, 0));
  const std::vector<std::string> sizes =
      arguments.has("bytes") ? arguments.all("bytes") : std::vector<std::string>{"0"};
  const std::chrono::milliseconds most(arguments.number("time-ms", 0, std::int64_t{1} << 40, 0));
  const auto end = steady_clock::now() + most;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t bytes = bytes_of(sizes[i], "--bytes");
    if (most.count() > 0) {
      const auto now = steady_clock::now();
      const auto share = (end - now) / static_cast<std::int64_t>(sizes.size() - i);
      options.is_over = [until = now + share] { return steady_clock::now() > until; };
    }
    print_line({{"operation", name(operation)},
                {"bytes", bytes},
                {"ranks", problem.size},
                {"nodes", problem.layout->nodes()},
                {"machine", request.machine.name},
                {"machine_filled", request.machine.filled},
                {"model", request.is_mixed     ? mixed_model
                          : request.is_layered ? layers_model
                                               : name(options.model)},
                {"predictions", predictions_of(request, bytes, options)}});
  }
  return 0;
}

int show_machine(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"machine"}, {"choices"});
  if (arguments.has("choices")) {
    print_line({{"choices", measured_choices(arguments.text("machine", model::default_machine().name))}});
    return 0;
  }
  std::fputs(model::to_json(chosen_machine(arguments.text("machine", model::default_machine().name))).c_str(),
             stdout);
  return 0;
}

}  // namespace unisono::tool
