// SPDX-License-Identifier: BSD-3-Clause
// Variables of an environment: the process's own, which its entries read, or a test's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

class Environment {
 public:
  static Environment of_process();  // as it is now
  // Each "NAME=value". Of several with one name the first counts.
  explicit Environment(std::vector<std::string> variables);

  std::optional<std::string> find(std::string_view name) const;
  const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
};

}  // namespace unisono
