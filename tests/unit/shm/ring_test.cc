// SPDX-License-Identifier: BSD-3-Clause
// Rings of lines: items of all lengths arrive in order and whole, and a full ring takes nothing.
#include "shm/pairs/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"

namespace unisono::shm {
namespace {

std::byte byte_of(std::uint64_t item, std::size_t at) {
  return static_cast<std::byte>((item * 131 + at * 7) & 0xff);
}

TEST(Ring, LinesOfItems) {
  EXPECT_EQ(ring_lines_of(0), 1);
  EXPECT_EQ(ring_lines_of(bytes_of_first_line), 1);
  EXPECT_EQ(ring_lines_of(bytes_of_first_line + 1), 2);
  EXPECT_EQ(ring_lines_of(bytes_of_first_line + bytes_of_further_line), 2);
  EXPECT_EQ(ring_lines_of(most_bytes_of_item), most_lines_of_item);
}

// Zero-filled, with its lines.
struct Memory {
  explicit Memory(int lines)
      : bytes(::operator new (RingMemory::bytes(lines), std::align_val_t{64})),
        place{.memory = static_cast<RingMemory*>(std::memset(bytes.get(), 0, RingMemory::bytes(lines))),
              .count = lines} {}
  struct Free {
    void operator()(void* of) const { ::operator delete (of, std::align_val_t{64}); }
  };
  std::unique_ptr<void, Free> bytes;
  RingPlace place;
};

class RingOfLines : public testing::TestWithParam<int> {};

TEST_P(RingOfLines, TakesWhatFitsAndNoMore) {
  const Memory memory(GetParam());
  RingWriter writer(memory.place);
  RingReader reader(memory.place);
  EXPECT_EQ(reader.peek(), nullptr);
  int written = 0;
  for (; writer.has_room(most_bytes_of_item); ++written) {
    const std::vector<std::byte> data(most_bytes_of_item, static_cast<std::byte>(written));
    writer.write({{static_cast<std::uint64_t>(written), 7}}, data.data(), data.size());
  }
  EXPECT_EQ(written, GetParam() / most_lines_of_item);
  while (writer.has_room(0)) writer.write({{99, 0}}, nullptr, 0);
  for (int item = 0; item < written; ++item) {
    ASSERT_NE(reader.peek(), nullptr);
    EXPECT_EQ(reader.peek()->words[0], static_cast<std::uint64_t>(item));
    std::vector<std::byte> data(most_bytes_of_item);
    reader.copy(data.data(), data.size());
    EXPECT_EQ(data, std::vector<std::byte>(most_bytes_of_item, static_cast<std::byte>(item)));
    reader.drop(most_bytes_of_item);
  }
  EXPECT_TRUE(writer.has_room(most_bytes_of_item));
  EXPECT_FALSE(writer.is_read());
  while (reader.peek() != nullptr) reader.drop(0);
  if (reader.has_to_tell()) reader.tell();
  EXPECT_TRUE(writer.is_read());
}

TEST_P(RingOfLines, ItemsArriveInOrderAndWhole) {
  const Memory memory(GetParam());
  constexpr std::uint64_t items = 200'000;
  const auto length_of = [](std::uint64_t item, std::uint32_t of) {
    std::minstd_rand random(static_cast<std::uint32_t>(item) * 2654435761u + of);
    return random() % 3 == 0 ? random() % (most_bytes_of_item + 1) : random() % 16;
  };
  const std::uint32_t of = seed();
  std::thread sender([&] {
    RingWriter writer(memory.place);
    std::byte data[most_bytes_of_item];
    for (std::uint64_t item = 0; item < items; ++item) {
      const std::size_t bytes = length_of(item, of);
      for (std::size_t i = 0; i < bytes; ++i) data[i] = byte_of(item, i);
      while (!writer.has_room(bytes)) std::this_thread::yield();
      writer.write({{item, bytes}}, data, bytes);
    }
  });
  RingReader reader(memory.place);
  std::byte data[most_bytes_of_item];
  for (std::uint64_t item = 0; item < items; ++item) {
    while (reader.peek() == nullptr) std::this_thread::yield();
    ASSERT_EQ(reader.peek()->words[0], item);
    const std::size_t bytes = reader.peek()->words[1];
    ASSERT_EQ(bytes, length_of(item, of));
    reader.copy(data, bytes);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(data[i], byte_of(item, i)) << item << ' ' << i;
    reader.drop(bytes);
  }
  sender.join();
  EXPECT_EQ(reader.peek(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Lines, RingOfLines, testing::Values(least_ring_lines, 8 * least_ring_lines));

}  // namespace
}  // namespace unisono::shm
