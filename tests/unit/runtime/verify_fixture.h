// SPDX-License-Identifier: BSD-3-Clause
// What tests of the self-check share. Their jobs write their report and what was found wrong into a folder of
// the test's own. Their operands have sums that show who was left out.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <type_traits>

#include "program.h"

namespace unisono::runtime {

class VerifyFixture : public ReportedTest {
 protected:
  VerifyFixture() { options_.verify_inputs = folder_ + "/mismatch"; }
  std::string report_text() const {
    std::stringstream text;
    text << std::ifstream(options_.report).rdbuf();
    return text.str();
  }
  Json rows() const { return report()["classes"]; }
  int files() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      count += entry.path().filename().string().rfind("mismatch-", 0) == 0 ? 1 : 0;
    return count;
  }
};

template <typename T>
T operand(int rank, std::size_t i) {
  const auto number = static_cast<T>(rank * 37 + static_cast<int>(i) * 5 + 2);
  if constexpr (std::is_integral_v<T>) return number;
  return std::sqrt(number);
}

// From the left, as a host might.
template <typename T>
T joined(int ranks, std::size_t i) {
  T sum = operand<T>(0, i);
  for (int rank = 1; rank < ranks; ++rank) sum += operand<T>(rank, i);
  return sum;
}

}  // namespace unisono::runtime
