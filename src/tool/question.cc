// SPDX-License-Identifier: BSD-3-Clause
#include "tool/question.h"

#include <algorithm>
#include <charconv>

#include "tuning/decisions/algorithm_text.h"

namespace unisono::tool {
namespace {

std::string option(std::string_view name) {
  return "--" + std::string(name);
}

}  // namespace

Arguments::Arguments(const std::vector<std::string>& words, const std::vector<std::string_view>& valued,
                     const std::vector<std::string_view>& flags) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].rfind("--", 0) == 0 ? words[i].substr(2) : "";
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) {
      values_[name];
    } else if (std::find(valued.begin(), valued.end(), name) == valued.end()) {
      std::string known;
      for (const auto* list : {&valued, &flags}) {
        for (const std::string_view other : *list) known += (known.empty() ? "" : ", ") + option(other);
      }
      throw UsageError("'" + words[i] + "' means nothing here" +
                       (known.empty() ? "" : "; there are " + known));
    } else if (i + 1 == words.size()) {
      throw UsageError(words[i] + " wants a value");
    } else {
      values_[name].push_back(words[++i]);
    }
  }
}

std::string Arguments::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw UsageError("say which: " + option(name));
  return found->second.back();
}

std::string Arguments::text(std::string_view name, std::string_view otherwise) const {
  return has(name) ? text(name) : std::string(otherwise);
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::int64_t Arguments::number(std::string_view name, std::int64_t low, std::int64_t high,
                               std::int64_t otherwise) const {
  return has(name) ? number_from(text(name), low, high, option(name)) : otherwise;
}

Operation Arguments::operation(std::string_view name) const {
  const std::string word = text(name);
  if (const auto operation = operation_from_name(word)) return *operation;
  throw UsageError(tuning::no_operation(word));
}

std::int64_t number_from(std::string_view text, std::int64_t low, std::int64_t high, std::string_view what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw UsageError(std::string(what) + " takes a whole number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", not '" + std::string(text) + "'");
  }
  return value;
}

std::vector<int> numbers_from(std::string_view text, int low, int high, std::string_view what) {
  std::vector<int> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-', 1);
    const auto first = static_cast<int>(number_from(item.substr(0, dash), low, high, what));
    const auto last = dash == std::string_view::npos
                          ? first
                          : static_cast<int>(number_from(item.substr(dash + 1), first, high, what));
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace unisono::tool
