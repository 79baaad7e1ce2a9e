// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/algorithm_text.h"
#include "tuning/decisions/decision.h"

namespace unisono::tuning {
namespace {

struct Forced {
  Operation operation;
  Choice choice;
};

class ForcedChooser : public Chooser {
 public:
  explicit ForcedChooser(std::vector<Forced> forced) : forced_(std::move(forced)) {}
  std::vector<Choice> candidates(const Question& question) override {
    std::vector<Choice> found;
    for (const Forced& f : forced_) {
      if (f.operation == question.problem.operation) found.push_back(f.choice);
    }
    return found;
  }

 private:
  std::vector<Forced> forced_;
};

// "ALGORITHM(parameters)" for one operation onto `forced`; what is wrong with it, or empty.
std::string read_choice(Operation operation, std::string_view text, std::vector<Forced>* forced) {
  ReadAlgorithm read = algorithm_from_text(operation, text);
  if (!read.problem.empty()) return read.problem;
  forced->push_back({operation,
                     {.algorithm = read.named.algorithm,
                      .parameters = std::move(read.named.parameters),
                      .reason = "forced by the option 'algorithm'",
                      .source = "forced"}});
  return {};
}

// One item "OPERATION:ALGORITHM(parameters)"; "all" stands for every operation that has the algorithm.
std::string read_one(std::string_view item, std::vector<Forced>* forced) {
  const std::size_t colon = item.find(':');
  if (colon == std::string_view::npos) return "it is not of the form OPERATION:ALGORITHM";
  const std::string_view wanted = item.substr(0, colon);
  const std::string_view choice = item.substr(colon + 1);
  if (wanted != "all") {
    const auto operation = operation_from_name(wanted);
    if (!operation) return no_operation(wanted);
    return read_choice(*operation, choice, forced);
  }
  const std::size_t before = forced->size();
  std::string why;
  for (int op = 0; op < operation_count; ++op) {
    const std::string problem = read_choice(static_cast<Operation>(op), choice, forced);
    if (!problem.empty()) why = problem;
  }
  return forced->size() == before ? why : std::string();
}

}  // namespace

std::unique_ptr<Chooser> make_forced(std::string_view text, std::vector<std::string>* warnings) {
  std::vector<Forced> forced;
  for (const std::string& item : split_outside_brackets(text)) {
    const std::string why = read_one(item, &forced);
    if (!why.empty()) warnings->push_back("the forced algorithm '" + item + "' is refused: " + why);
  }
  return std::make_unique<ForcedChooser>(std::move(forced));
}

}  // namespace unisono::tuning
