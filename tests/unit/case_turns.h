// SPDX-License-Identifier: BSD-3-Clause
// Tests with very many cases run some of them: every seventh with TEST_STRIDE=7 (sanitized builds), and with
// UNISONO_TEST_SHARE=2/4 every fourth, from the second on. (.ci/run: other commits have the others.)
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace unisono {

struct CaseTurns {
  int every = 1, first = 0;

  // One of each `every` places that follow each other, and another one of the next: so that loops of that
  // length have all of their cases in each share.
  bool has(int place) const { return (place + place / every) % every == first; }
};

inline CaseTurns case_turns() {
  const char* stride = std::getenv("TEST_STRIDE");
  const char* share = std::getenv("UNISONO_TEST_SHARE");
  const int step = stride == nullptr ? 1 : std::max(1, std::atoi(stride));
  int number = 1, of = 1;
  if (share != nullptr && std::sscanf(share, "%d/%d", &number, &of) != 2) std::abort();
  return {step * std::max(1, of), step * std::max(0, number - 1)};
}

}  // namespace unisono
