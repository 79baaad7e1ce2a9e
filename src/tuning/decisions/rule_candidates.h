// SPDX-License-Identifier: BSD-3-Clause
// What built-in rules name for a call, in order: the first that is legal is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuning/decisions/decision.h"

namespace unisono::tuning {

class Candidates {
 public:
  explicit Candidates(Operation operation) : operation_(operation) {}

  struct Setting {
    std::string_view name;
    std::int64_t value;
  };
  void add(const std::string& algorithm, std::string reason, const std::vector<Setting>& settings = {}) {
    const algorithms::Descriptor* descriptor = algorithms::find(operation_, algorithm);
    if (descriptor == nullptr) return;
    Choice choice{.algorithm = descriptor, .reason = std::move(reason), .source = "rule"};
    for (const Setting& s : settings) choice.parameters.set(s.name, s.value);
    list_.push_back(std::move(choice));
  }
  void native(std::string reason) { list_.push_back({.reason = std::move(reason), .source = "rule"}); }
  std::vector<Choice> take() { return std::move(list_); }

 private:
  Operation operation_;
  std::vector<Choice> list_;
};

}  // namespace unisono::tuning
