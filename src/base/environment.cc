// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.h"

#include <utility>

extern char** environ;

namespace unisono {

Environment Environment::of_process() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return Environment(std::move(variables));
}

Environment::Environment(std::vector<std::string> variables) : variables_(std::move(variables)) {}

std::optional<std::string> Environment::find(std::string_view name) const {
  for (const std::string& variable : variables_) {
    if (variable.size() > name.size() && variable[name.size()] == '=' && variable.starts_with(name))
      return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

}  // namespace unisono
