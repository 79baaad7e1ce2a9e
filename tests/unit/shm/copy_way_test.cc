// SPDX-License-Identifier: BSD-3-Clause
// Which way a writer copies: what both sides' times say, and again when they say something else.
#include "shm/pairs/copy_way.h"

#include <gtest/gtest.h>

#include <vector>

namespace unisono::shm {
namespace {

// A reader who takes so long for each way; the writer's own time is small beside it.
struct Reader {
  std::uint32_t cached_ns, streamed_ns;
  bool is_there = true;
};

constexpr std::uint32_t short_ns = 1'000'000, long_ns = 10'000'000;

// The way of the last of `count` messages.
bool is_streaming_after(int count, std::size_t bytes, const Reader& reader, CopyWay* way,
                        ReaderTimes* times) {
  const std::vector<std::byte> from(bytes, std::byte{7});
  std::vector<std::byte> into(bytes);
  bool is_streaming = false;
  for (int i = 0; i < count; ++i) {
    const CopyWay::Copy copy = way->next(bytes);
    into.assign(bytes, std::byte{0});
    way->copy(copy, into.data(), from.data(), bytes);
    EXPECT_EQ(into, from);
    if (copy.timed >= 0 && reader.is_there)
      times->ns[copy.timed].store(copy.is_streaming ? reader.streamed_ns : reader.cached_ns);
    is_streaming = copy.is_streaming;
  }
  return is_streaming;
}

TEST(CopyWay, TheQuickerOneIsTaken) {
  for (const std::size_t bytes : {500, 4000, 20'000, 100'000}) {
    ReaderTimes times{};
    CopyWay way(&times);
    EXPECT_TRUE(is_streaming_after(100, bytes, {long_ns, short_ns}, &way, &times)) << bytes;
    CopyWay other(&times);
    EXPECT_FALSE(is_streaming_after(100, bytes, {short_ns, long_ns}, &other, &times)) << bytes;
  }
}

TEST(CopyWay, ItIsLookedAtAgain) {
  ReaderTimes times{};
  CopyWay way(&times);
  EXPECT_FALSE(is_streaming_after(100, 100'000, {short_ns, long_ns}, &way, &times));
  EXPECT_TRUE(is_streaming_after(500, 100'000, {long_ns, short_ns}, &way, &times));
  EXPECT_FALSE(is_streaming_after(2'000, 100'000, {short_ns, long_ns}, &way, &times));
}

TEST(CopyWay, AReaderWhoTellsNothingIsNotWaitedFor) {
  ReaderTimes times{};
  CopyWay way(&times);
  EXPECT_FALSE(
      is_streaming_after(1000, 4000, {.cached_ns = 0, .streamed_ns = 0, .is_there = false}, &way, &times));
  // Other lengths have their turn.
  EXPECT_TRUE(is_streaming_after(200, 100, {long_ns, short_ns}, &way, &times));
}

TEST(CopyWay, FewMessagesAreTimed) {
  ReaderTimes times{};
  CopyWay way(&times);
  int timed = 0;
  for (int i = 0; i < 100'000; ++i) {
    const CopyWay::Copy copy = way.next(4000);
    if (copy.timed < 0) continue;
    ++timed;
    times.ns[copy.timed].store(1000);
  }
  EXPECT_LT(timed, 500);
}

}  // namespace
}  // namespace unisono::shm
