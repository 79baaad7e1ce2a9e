// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/cache.h"

#include <gtest/gtest.h>

#include "schedule/compiled.h"

namespace unisono::schedule {
namespace {

CacheKey key_of(int root, std::int64_t segment = 0) {
  return {.algorithm = "chain",
          .parameters = {{"segment", segment}},
          .operation = Operation::bcast,
          .root = root};
}

class Source {
 public:
  std::shared_ptr<const Compiled> operator()() {
    ++times_;
    return std::make_shared<Compiled>();
  }
  int times() const { return times_; }

 private:
  int times_ = 0;
};

TEST(Cache, MakesEachScheduleOnce) {
  Cache cache(1 << 20);
  Source source;
  const auto make = [&] { return source(); };
  const auto first = cache.get(key_of(0), make);
  EXPECT_EQ(cache.get(key_of(0), make), first);
  EXPECT_EQ(source.times(), 1);
  EXPECT_NE(cache.get(key_of(1), make), first);
  EXPECT_NE(cache.get(key_of(0, 64), make), first);
  CacheKey other = key_of(0);
  other.is_in_place = true;
  EXPECT_NE(cache.get(other, make), first);
  other = key_of(0);
  other.algorithm = "binomial";
  EXPECT_NE(cache.get(other, make), first);
  other = key_of(0);
  other.is_commutative = false;
  EXPECT_NE(cache.get(other, make), first);
  other = key_of(0);
  other.operation = Operation::reduce;
  EXPECT_NE(cache.get(other, make), first);
  EXPECT_EQ(source.times(), 7);
  EXPECT_EQ(cache.entries(), 7u);
}

TEST(Cache, DropsTheLeastRecentlyUsedWithinItsBound) {
  Source source;
  const auto make = [&] { return source(); };
  std::size_t one = 0;
  {
    Cache probe(1 << 20);
    probe.get(key_of(0), make);
    one = probe.size_bytes();
    EXPECT_GE(one, sizeof(Compiled));
  }
  Cache cache(3 * one);
  const auto kept = cache.get(key_of(0), make);
  cache.get(key_of(1), make);
  cache.get(key_of(2), make);
  cache.get(key_of(0), make);  // used again: 1 is the oldest now
  cache.get(key_of(3), make);
  EXPECT_EQ(cache.entries(), 3u);
  EXPECT_LE(cache.size_bytes(), 3 * one);
  const int before = source.times();
  EXPECT_EQ(cache.get(key_of(0), make), kept);
  EXPECT_EQ(source.times(), before);
  cache.get(key_of(1), make);
  EXPECT_EQ(source.times(), before + 1);
}

TEST(Cache, GivesBackWhatItCannotKeep) {
  Cache cache(10);
  Source source;
  const auto make = [&] { return source(); };
  EXPECT_NE(cache.get(key_of(0), make), nullptr);
  EXPECT_NE(cache.get(key_of(0), make), nullptr);
  EXPECT_EQ(source.times(), 2);
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_EQ(cache.size_bytes(), 0u);
}

}  // namespace
}  // namespace unisono::schedule
