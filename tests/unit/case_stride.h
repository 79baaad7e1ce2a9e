// SPDX-License-Identifier: BSD-3-Clause
// Tests with very many cases run every case_stride()-th: all of them, unless TEST_STRIDE says otherwise.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace unisono {

inline int case_stride() {
  const char* given = std::getenv("TEST_STRIDE");
  return given == nullptr ? 1 : std::max(1, std::atoi(given));
}

}  // namespace unisono
