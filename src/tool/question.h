// SPDX-License-Identifier: BSD-3-Clause
// The words of one question to unisono-tool.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace unisono::tool {

// A question that makes no sense: what would, in one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Arguments {
 public:
  // `--name value` for each of `valued`, `--name` alone for each of `flags`; anything else is refused.
  Arguments(const std::vector<std::string>& words, const std::vector<std::string_view>& valued,
            const std::vector<std::string_view>& flags);

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // The last value given; aborts the question where there is none and no standard.
  std::string text(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::string> all(std::string_view name) const;
  std::int64_t number(std::string_view name, std::int64_t low, std::int64_t high,
                      std::int64_t otherwise) const;
  Operation operation(std::string_view name) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// A whole number within bounds; `what` names it in the refusal.
std::int64_t number_from(std::string_view text, std::int64_t low, std::int64_t high, std::string_view what);
// "1-33,64" -> 1, 2, ... 33, 64.
std::vector<int> numbers_from(std::string_view text, int low, int high, std::string_view what);

}  // namespace unisono::tool
