// SPDX-License-Identifier: BSD-3-Clause
// Inputs that have ended a reader once, and some thousand changes of valid ones with a fixed seed.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "inputs.h"
#include "targets.h"

namespace unisono::fuzz {
namespace {

TEST(Found, InputsThatHaveEndedAReader) {
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FUZZ_FOUND)) {
    const std::string name = entry.path().filename().string();
    for (const Target& target : targets()) {
      if (name.rfind(std::string(target.name) + "-", 0) != 0) continue;
      SCOPED_TRACE(name);
      target.run(file_text(entry.path().string()).value());
      ++inputs;
    }
  }
  EXPECT_GT(inputs, 0);
}

TEST(Found, ChangesOfValidInputs) {
  constexpr int changes = 200;
  std::mt19937_64 random(7);
  for (const Target& target : targets()) {
    for (const std::string& seed : target.seeds) {
      std::string input = seed;
      for (int i = 0; i < changes; ++i) {
        target.run(input);
        input = changed(i % 4 == 0 ? seed : input, seed, random);
      }
    }
  }
}

}  // namespace
}  // namespace unisono::fuzz
