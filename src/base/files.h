// SPDX-License-Identifier: BSD-3-Clause
// Whole files.
#pragma once

#include <array>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

namespace unisono {

// What stands in the file; empty where it cannot be read. A directory can be opened, but not read.
inline std::optional<std::string> file_text(const std::string& name) {
  std::ifstream stream(name);
  if (!stream) return std::nullopt;
  std::string text;
  std::array<char, 4096> block;
  do {
    stream.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
  } while (stream);
  if (stream.bad()) return std::nullopt;
  return text;
}

}  // namespace unisono
