// SPDX-License-Identifier: BSD-3-Clause
// Draws an algorithm.
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "pictures/print.h"
#include "proof/count_transfers.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/layouts.h"
#include "tool/question.h"
#include "tuning/decisions/algorithm_text.h"

namespace unisono::tool {
namespace {

using algorithms::Descriptor;
using algorithms::Parameters;
using algorithms::ParameterSpec;
using pictures::Picture;
using schedule::Problem;

constexpr int standard_ranks = 8;

// With parameters, where they stand behind the name.
tuning::NamedAlgorithm chosen_algorithm(const Arguments& arguments) {
  const Operation operation = arguments.operation("operation");
  tuning::ReadAlgorithm read = tuning::algorithm_from_text(operation, arguments.text("algorithm"));
  if (read.problem.empty() && read.named.algorithm == nullptr)
    read.problem = "native is the MPI's own, and nothing is known of its steps";
  if (!read.problem.empty()) throw UsageError(read.problem);
  return std::move(read.named);
}

void set_parameter(const Descriptor& descriptor, const std::string& key, const std::string& value,
                   Parameters* parameters) {
  std::string known;
  for (const ParameterSpec& spec : descriptor.parameters) {
    if (spec.name == key) {
      parameters->set(key, number_from(value, spec.low, spec.high, key));
      return;
    }
    known += (known.empty() ? "; there are " : ", ") + std::string(spec.name);
  }
  throw UsageError(descriptor.name + " has no parameter '" + key + "'" + known);
}

Parameters chosen_parameters(const Arguments& arguments, const Descriptor& descriptor,
                             Parameters parameters) {
  if (arguments.has("parameter")) {
    for (const std::string& pair : arguments.all("parameter")) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos) throw UsageError("--parameter " + pair + ": write name=value");
      set_parameter(descriptor, pair.substr(0, equals), pair.substr(equals + 1), &parameters);
    }
  }
  if (arguments.has("segment")) set_parameter(descriptor, "segment", arguments.text("segment"), &parameters);
  return with_standards(descriptor, parameters);
}

Problem problem_of(const Arguments& arguments, Operation operation) {
  Problem problem;
  problem.operation = operation;
  problem.layout = chosen_layout(arguments, standard_ranks);
  problem.size = problem.layout->size();
  problem.neighborhood = chosen_graph(arguments, operation, problem.size);
  const int last_root = is_rooted(operation) ? problem.size - 1 : 0;
  problem.root = static_cast<int>(arguments.number("root", 0, last_root, 0));
  return problem;
}

// What crosses which border, as JSON.
nlohmann::ordered_json transfers_of(const Arguments& arguments) {
  const tuning::NamedAlgorithm chosen = chosen_algorithm(arguments);
  const Descriptor& descriptor = *chosen.algorithm;
  const Problem problem = problem_of(arguments, descriptor.operation);
  if (has_uneven_blocks(descriptor.operation) || problem.neighborhood != nullptr)
    throw UsageError("transfers are counted where all blocks are equally long, which those of " +
                     std::string(name(descriptor.operation)) + " need not be");
  const Parameters parameters = chosen_parameters(arguments, descriptor, chosen.parameters);
  const std::int64_t bytes = moves_data(descriptor.operation)
                                 ? arguments.number("count", 0, std::numeric_limits<std::int32_t>::max(), 8)
                                 : 0;
  const std::string why = why_illegal(descriptor, problem, bytes, true, true);
  if (!why.empty()) throw UsageError(descriptor.name + " " + why);
  std::vector<std::string> failures;
  const auto build = [&](const Problem& of_rank) { return descriptor.build(of_rank, parameters); };
  const proof::CheckedCall call = proof::spread_out(descriptor.name, problem, false, build, &failures);
  if (!failures.empty()) throw std::runtime_error(failures.front());
  nlohmann::ordered_json borders = nlohmann::ordered_json::array();
  for (const proof::Border& border : proof::count_transfers(call, bytes)) {
    nlohmann::ordered_json one = {{"between", border.name}, {"parts", border.parts}, {"lines", border.lines},
                                  {"flags", border.flags},  {"bytes", border.bytes}, {"least_lines", nullptr},
                                  {"least_bytes", nullptr}};
    if (border.least_lines) one["least_lines"] = *border.least_lines;
    if (border.least_bytes) one["least_bytes"] = *border.least_bytes;
    borders.push_back(std::move(one));
  }
  return {{"operation", name(descriptor.operation)},
          {"algorithm", descriptor.name},
          {"layout", problem.layout->text()},
          {"bytes", bytes},
          {"borders", borders}};
}

Picture picture_of(const Arguments& arguments) {
  const tuning::NamedAlgorithm chosen = chosen_algorithm(arguments);
  const Descriptor& descriptor = *chosen.algorithm;
  Problem problem = problem_of(arguments, descriptor.operation);
  const Parameters parameters = chosen_parameters(arguments, descriptor, chosen.parameters);
  Picture picture;
  if (arguments.has("count")) {
    picture.count = arguments.number("count", 0, std::numeric_limits<std::int32_t>::max(), 0);
  }
  // Long blocks of neighbours go other ways than short ones: one picture shows one of them.
  constexpr std::int64_t short_block = 8;
  if (problem.neighborhood != nullptr && !picture.count) picture.count = short_block;
  const std::string why = why_illegal(descriptor, problem, picture.count.value_or(0), true, true);
  if (!why.empty()) throw UsageError(descriptor.name + " " + why);
  picture.operation = descriptor.operation;
  picture.algorithm = descriptor.name;
  picture.sentence = descriptor.sentence;
  picture.source = descriptor.source;
  picture.parameters = parameters.values();
  picture.layout = problem.layout;
  picture.root = problem.root;
  picture.neighborhood = problem.neighborhood;
  if (problem.neighborhood != nullptr) picture.graph = arguments.text("graph", standard_graph);
  for (problem.rank = 0; problem.rank < problem.size; ++problem.rank) {
    picture.programs.push_back(descriptor.build(problem, parameters));
  }
  return picture;
}

}  // namespace

int show_algorithm(const std::vector<std::string>& words) {
  const Arguments arguments(words,
                            {"operation", "algorithm", "ranks", "layout", "topology", "graph", "root",
                             "segment", "parameter", "count", "format"},
                            {});
  const std::string format = arguments.text("format", "text");
  if (format == "transfers") {
    print(transfers_of(arguments));
    return 0;
  }
  if (format != "text" && format != "svg" && format != "json") {
    throw UsageError("--format " + format + ": there are text, svg, json, transfers");
  }
  const Picture picture = picture_of(arguments);
  const std::string drawing = format == "text"  ? pictures::to_text(picture)
                              : format == "svg" ? pictures::to_svg(picture)
                                                : pictures::to_json(picture);
  std::fputs(drawing.c_str(), stdout);
  return 0;
}

}  // namespace unisono::tool
