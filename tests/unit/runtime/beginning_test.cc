// SPDX-License-Identifier: BSD-3-Clause
// What a job's start costs the host, and what rank 0 tells all others then.
#include <gtest/gtest.h>

#include <string>

#include "program.h"
#include "runtime/world/telling.h"

namespace unisono::runtime::beginning_test {
namespace {

using Beginning = ProgramTest;

// Each is a wait for the slowest rank, and a time slice or more where ranks share cores.
TEST_F(Beginning, takes_eight_collectives_of_the_host) {
  run_jobs(4, [](Job&, FakeHost& host, int) { EXPECT_EQ(host.collective_calls(), 8U); });
}

TEST_F(Beginning, hears_short_and_long_words_of_rank_0) {
  for (const std::size_t length : {0U, 7U, 3U << 10, (3U << 10) + 1, 100'000U}) {
    std::string words(length, '\0');
    for (std::size_t i = 0; i < length; ++i) words[i] = static_cast<char>('a' + i % 26);
    FakeWorld(3).run([&](FakeHost& host, int rank) {
      Telling telling(host, host.world(), rank == 0 ? words : "words of another rank");
      EXPECT_EQ(telling.heard(), words);
      EXPECT_LE(host.collective_calls(), length <= 3U << 10 ? 1U : 2U);
    });
  }
}

}  // namespace
}  // namespace unisono::runtime::beginning_test
