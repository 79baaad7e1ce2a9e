// SPDX-License-Identifier: BSD-3-Clause
// Contexts as small numbers, in the order in which they come. Programs have few communicators: they are
// looked for one after the other (section 4.3.1).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace unisono::matching {

class ContextNumbers {
 public:
  std::optional<std::uint32_t> find(std::uint32_t context) const {
    for (std::uint32_t number = 0; number < contexts_.size(); ++number)
      if (contexts_[number] == context) return number;
    return std::nullopt;
  }
  std::uint32_t of(std::uint32_t context) {
    if (const auto number = find(context)) return *number;
    contexts_.push_back(context);
    return count() - 1;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(contexts_.size()); }
  std::size_t bytes() const { return contexts_.capacity() * sizeof(contexts_[0]); }

 private:
  std::vector<std::uint32_t> contexts_;
};

}  // namespace unisono::matching
