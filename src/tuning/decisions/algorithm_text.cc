// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/decisions/algorithm_text.h"

#include <algorithm>
#include <utility>

#include "algorithms/catalogue/agent_descriptors.h"
#include "algorithms/catalogue/names_in_sources.h"
#include "base/near_names.h"
#include "base/options.h"
#include "tuning/decisions/decision.h"

namespace unisono::tuning {
namespace {

// "it has segment, window; did you mean 'window'?", "it has none".
std::string known_parameters(const algorithms::Descriptor& descriptor, std::string_view asked) {
  std::string known;
  std::vector<std::string> names;
  for (const algorithms::ParameterSpec& s : descriptor.parameters) {
    known += (known.empty() ? "" : ", ") + std::string(s.name);
    names.emplace_back(s.name);
  }
  return known.empty() ? "it has none" : "it has " + known + did_you_mean(asked, names);
}

// "'segment' of ring takes 1K to 1G, not '64Q'; did you mean '64K'?"
std::string wrong_value(const algorithms::ParameterSpec& spec, const algorithms::Descriptor& descriptor,
                        std::string_view value) {
  const auto digits = static_cast<std::size_t>(
      std::ranges::find_if(value, [](char c) { return c < '0' || c > '9'; }) - value.begin());
  std::vector<std::string> sizes;
  for (const char* unit : {"K", "M", "G"}) {
    std::string size(value.substr(0, digits));
    size += unit;
    const std::int64_t bytes = bytes_from_text(size);
    if (bytes >= spec.low && bytes <= spec.high) sizes.push_back(std::move(size));
  }
  const bool is_unit_wrong = digits > 0 && digits < value.size() && bytes_from_text(value) < 0;
  std::string problem("'");
  problem.append(spec.name).append("' of ").append(descriptor.name);
  problem += " takes " + bytes_to_text(spec.low) + " to " + bytes_to_text(spec.high);
  problem.append(", not '").append(value).append("'");
  if (is_unit_wrong && !sizes.empty()) problem.append("; did you mean '").append(sizes.front()).append("'?");
  return problem;
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
      return descriptor.name + " has no parameter '" + key + "' (" + known_parameters(descriptor, key) + ")";
    const std::string given = equals == std::string::npos ? std::string() : item.substr(equals + 1);
    const std::int64_t value = bytes_from_text(given);
    if (value < spec->low || value > spec->high) return wrong_value(*spec, descriptor, given);
    if (std::ranges::any_of(parameters->values(), [&](const auto& value) { return value.first == key; }))
      return "'" + key + "' of " + descriptor.name + " is given twice";
    parameters->set(key, value);
  }
  return {};
}

// What can be written for an operation.
std::vector<std::string> known_algorithms(Operation operation) {
  std::vector<std::string> names{"native"};
  for (const algorithms::Descriptor& d : algorithms::registry()) {
    if (d.operation == operation) names.push_back(d.name);
  }
  if (algorithms::by_agents(operation) != nullptr) names.emplace_back(algorithms::agents_name);
  return names;
}

// "; reduce and allreduce have it"; empty where none has.
std::string operations_with(const std::string& algorithm) {
  std::vector<std::string> having;
  for (int op = 0; op < operation_count; ++op) {
    const auto operation = static_cast<Operation>(op);
    if (algorithms::find_named(operation, algorithm) != nullptr)
      having.emplace_back(unisono::name(operation));
  }
  std::string text;
  for (std::size_t i = 0; i < having.size(); ++i)
    text += (i == 0 ? "; " : i + 1 < having.size() ? ", " : " and ") + having[i];
  return text + (having.empty() ? "" : having.size() == 1 ? " has it" : " have it");
}

}  // namespace

ReadAlgorithm algorithm_from_text(Operation operation, std::string_view text) {
  std::size_t bracket = text.rfind('(');
  // A source's name may have a bracket of its own: Rab2-(ring,ring). Names of ours are looked for first,
  // since tables hold many of them, and there are many names in sources.
  const std::string_view front = text.substr(0, bracket);
  const bool is_ours = front == "native" || algorithms::find_with_agents(operation, front) != nullptr;
  if (!is_ours && algorithms::find_named(operation, text) != nullptr) bracket = std::string_view::npos;
  const std::string name(text.substr(0, bracket));
  ReadAlgorithm read;
  if (bracket != std::string_view::npos && text.back() != ')') {
    read.problem = "the bracket behind '" + name + "' is not closed";
  } else if (name == "native") {
    if (bracket != std::string_view::npos) read.problem = "native has no parameters";
  } else if (read.named.algorithm = algorithms::find_named(operation, name);
             read.named.algorithm == nullptr) {
    read.problem = algorithms::why_unknown(operation, name);
    // What a source calls so is what was meant.
    if (read.problem.find(';') == std::string::npos)
      read.problem += did_you_mean(name, known_algorithms(operation));
    read.problem += operations_with(name);
    read.problem += " (`unisono list " + std::string(unisono::name(operation)) + "` names them)";
  } else if (bracket != std::string_view::npos) {
    const std::string_view inside = text.substr(bracket + 1, text.size() - bracket - 2);
    read.problem = read_parameters(inside, *read.named.algorithm, &read.named.parameters);
  }
  return read;
}

std::string no_operation(std::string_view name) {
  std::string known;
  std::vector<std::string> names;
  for (int op = 0; op < operation_count; ++op) {
    names.emplace_back(unisono::name(static_cast<Operation>(op)));
    known += (op == 0 ? "" : ", ") + names.back();
  }
  const std::string meant = did_you_mean(name, names);
  return "there is no operation '" + std::string(name) + "'" +
         (meant.empty() ? "; there are " + known : meant);
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
