// SPDX-License-Identifier: BSD-3-Clause
// Whole files.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace unisono {

// What stands in the file; empty where it cannot be read.
inline std::optional<std::string> file_text(const std::string& name) {
  std::ifstream stream(name);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

}  // namespace unisono
