// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/options.h"
#include "tuning/decision.h"

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

std::vector<std::string> split_outside_brackets(std::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else if (c != ' ') {
      items.back() += c;
    }
  }
  std::erase(items, "");
  return items;
}

std::string known_names(Operation operation) {
  std::string names = "native";
  for (const algorithms::Descriptor& d : algorithms::registry()) {
    if (d.operation == operation) names += ", " + d.name;
  }
  return names;
}

// "segment=64K,window=2" into `parameters`; what is wrong with it, or empty.
std::string read_parameters(std::string_view text, const algorithms::Descriptor& descriptor,
                            algorithms::Parameters* parameters) {
  for (const std::string& item : split_outside_brackets(text)) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const auto spec = std::find_if(descriptor.parameters.begin(), descriptor.parameters.end(),
                                   [&](const algorithms::ParameterSpec& s) { return s.name == key; });
    if (spec == descriptor.parameters.end()) return "it has no parameter '" + key + "'";
    const std::int64_t value =
        equals == std::string::npos ? -1 : bytes_from_text(std::string_view(item).substr(equals + 1));
    if (value < spec->low || value > spec->high) {
      return "'" + key + "' takes " + bytes_to_text(spec->low) + " to " + bytes_to_text(spec->high);
    }
    parameters->set(key, value);
  }
  return {};
}

// "ALGORITHM(parameters)" for one operation onto `forced`; what is wrong with it, or empty.
std::string read_choice(Operation operation, std::string_view text, std::vector<Forced>* forced) {
  const std::size_t bracket = text.find('(');
  const std::string algorithm(text.substr(0, bracket));
  Choice choice{.reason = "forced by the option 'algorithm'", .source = "forced"};
  if (algorithm != "native") {
    choice.algorithm = algorithms::find(operation, algorithm);
    if (choice.algorithm == nullptr) {
      return "there is no algorithm '" + algorithm + "' for " + std::string(name(operation)) +
             " (there are: " + known_names(operation) + ")";
    }
    if (bracket != std::string_view::npos) {
      if (text.back() != ')') return "its bracket is not closed";
      const std::string_view inside = text.substr(bracket + 1, text.size() - bracket - 2);
      const std::string why = read_parameters(inside, *choice.algorithm, &choice.parameters);
      if (!why.empty()) return why;
    }
  }
  forced->push_back({operation, std::move(choice)});
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
    if (!operation) return "there is no operation '" + std::string(wanted) + "'";
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
