// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/algorithm_text.h"

#include <algorithm>

#include "algorithms/catalogue/names_in_sources.h"
#include "base/options.h"
#include "tuning/decisions/decision.h"

namespace unisono::tuning {
namespace {

// "it has segment, window", "it has none".
std::string known_parameters(const algorithms::Descriptor& descriptor) {
  std::string names;
  for (const algorithms::ParameterSpec& s : descriptor.parameters)
    names += (names.empty() ? "" : ", ") + std::string(s.name);
  return names.empty() ? "it has none" : "it has " + names;
}

// "segment=64K,window=2" into `parameters`; what is wrong with it, or empty.
std::string read_parameters(std::string_view text, const algorithms::Descriptor& descriptor,
                            algorithms::Parameters* parameters) {
  for (const std::string& item : split_outside_brackets(text)) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const auto spec = std::find_if(descriptor.parameters.begin(), descriptor.parameters.end(),
                                   [&](const algorithms::ParameterSpec& s) { return s.name == key; });
    if (spec == descriptor.parameters.end())
      return descriptor.name + " has no parameter '" + key + "' (" + known_parameters(descriptor) + ")";
    const std::int64_t value =
        equals == std::string::npos ? -1 : bytes_from_text(std::string_view(item).substr(equals + 1));
    if (value < spec->low || value > spec->high) {
      return "'" + key + "' of " + descriptor.name + " takes " + bytes_to_text(spec->low) + " to " +
             bytes_to_text(spec->high);
    }
    if (std::ranges::any_of(parameters->values(), [&](const auto& value) { return value.first == key; }))
      return "'" + key + "' of " + descriptor.name + " is given twice";
    parameters->set(key, value);
  }
  return {};
}

// "native, binomial, ...": what can be written for an operation.
std::string known_algorithms(Operation operation) {
  std::string names = "native";
  for (const algorithms::Descriptor& d : algorithms::registry()) {
    if (d.operation == operation) names += ", " + d.name;
  }
  return names;
}

}  // namespace

ReadAlgorithm algorithm_from_text(Operation operation, std::string_view text) {
  // A source's name may have a bracket of its own: Rab2-(ring,ring).
  const bool is_name_alone = algorithms::find_named(operation, text) != nullptr;
  const std::size_t bracket = is_name_alone ? std::string_view::npos : text.rfind('(');
  const std::string name(text.substr(0, bracket));
  ReadAlgorithm read;
  if (bracket != std::string_view::npos && text.back() != ')') {
    read.problem = "the bracket behind '" + name + "' is not closed";
  } else if (name == "native") {
    if (bracket != std::string_view::npos) read.problem = "native has no parameters";
  } else if (read.named.algorithm = algorithms::find_named(operation, name);
             read.named.algorithm == nullptr) {
    read.problem =
        algorithms::why_unknown(operation, name) + " (there are: " + known_algorithms(operation) + ")";
  } else if (bracket != std::string_view::npos) {
    const std::string_view inside = text.substr(bracket + 1, text.size() - bracket - 2);
    read.problem = read_parameters(inside, *read.named.algorithm, &read.named.parameters);
  }
  return read;
}

std::string no_operation(std::string_view name) {
  std::string known;
  for (int op = 0; op < operation_count; ++op)
    known += (op == 0 ? "" : ", ") + std::string(unisono::name(static_cast<Operation>(op)));
  return "there is no operation '" + std::string(name) + "'; there are " + known;
}

std::string to_text(const NamedAlgorithm& named) {
  return Choice{.algorithm = named.algorithm, .parameters = named.parameters}.text();
}

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

}  // namespace unisono::tuning
