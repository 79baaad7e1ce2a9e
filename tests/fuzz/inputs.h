// SPDX-License-Identifier: BSD-3-Clause
// Inputs that come from others by small changes.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace unisono::fuzz {

inline constexpr std::size_t most_input_bytes = 64 << 10;

// `other`: an input that parts may be taken of.
std::string changed(const std::string& input, const std::string& other, std::mt19937_64& random);

}  // namespace unisono::fuzz
