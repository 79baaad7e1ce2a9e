// SPDX-License-Identifier: BSD-3-Clause
// The seed of a test's random choices: printed, and taken from TEST_SEED where a run is to be repeated.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace unisono {

inline std::uint32_t seed() {
  static const std::uint32_t value = [] {
    const char* given = std::getenv("TEST_SEED");
    const std::uint32_t chosen = given != nullptr
                                     ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10))
                                     : std::random_device{}();
    std::printf("TEST_SEED=%u\n", chosen);
    return chosen;
  }();
  return value;
}

}  // namespace unisono
