// SPDX-License-Identifier: BSD-3-Clause
// M5: the source's figures 6.3 and 6.4, step by step; keys compared by every kind of vectors that there is.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "../seed.h"
#include "matching/array_list.h"
#include "matching/vector_list.h"

namespace unisono::matching {
namespace {

Item item_of(int number) {
  return reinterpret_cast<Item>(static_cast<std::intptr_t>(number));
}

// Elements QE1, QE2, ... of one list.
template <class List>
struct Example {
  explicit Example(int block) : memory({.block = block}), list(&memory) {}

  void add(int first, int last) {
    for (int number = first; number <= last; ++number)
      list.append(element_of({.tag = number}, item_of(number), static_cast<std::uint64_t>(number)));
  }
  void remove(int first, int last) {
    for (int number = first; number <= last; ++number) {
      const auto place = list.find_item(item_of(number));
      ASSERT_TRUE(place);
      EXPECT_EQ(place.sequence(), static_cast<std::uint64_t>(number));
      EXPECT_EQ(list.erase(place), item_of(number));
    }
  }
  // How many places a search looks at that finds nothing: all from heads to tails.
  std::uint64_t places() const {
    std::uint64_t looked_at = 0;
    EXPECT_FALSE(list.find(pattern_of({.tag = 1'000'000}), &looked_at));
    return looked_at;
  }

  typename List::Memory memory;
  List list;
};

TEST(Blocks, Figure63) {
  Example<ArrayList> example(9);
  EXPECT_EQ(example.places(), 0U);
  example.add(1, 6);
  EXPECT_EQ(example.places(), 6U);
  example.remove(2, 3);  // neither head nor tail moves
  EXPECT_EQ(example.places(), 6U);
  example.remove(1, 1);  // the head moves on to QE4
  EXPECT_EQ(example.places(), 3U);
  example.remove(5, 6);
  EXPECT_EQ(example.places(), 1U);
  example.add(7, 13);  // QE12 and QE13 begin a second block
  EXPECT_EQ(example.places(), 8U);
  example.add(14, 22);
  EXPECT_EQ(example.places(), 17U);
  example.remove(12, 20);  // the second block leaves
  EXPECT_EQ(example.places(), 8U);
  std::vector<Item> items;
  example.list.for_each([&](const Element& element) { items.push_back(element.item); });
  EXPECT_EQ(items, (std::vector<Item>{item_of(4), item_of(7), item_of(8), item_of(9), item_of(10),
                                      item_of(11), item_of(21), item_of(22)}));
}

TEST(Blocks, TailOfADrainedBlockSkipsHolesAtOnce) {
  Example<ArrayList> example(9);
  example.add(1, 6);
  example.remove(5, 5);
  example.remove(4, 4);
  example.remove(6, 6);
  EXPECT_EQ(example.places(), 3U);
  example.remove(1, 3);
  EXPECT_EQ(example.places(), 0U);
  EXPECT_EQ(example.list.length(), 0U);
}

// The figure's vectors have 16 elements, these have 8: half of its numbers.
TEST(Blocks, Figure64) {
  Example<VectorList> example(2 * vector_keys);
  example.add(1, 12);
  EXPECT_EQ(example.places(), 16U);
  example.remove(1, 4);  // the head moves, the start does not
  EXPECT_EQ(example.places(), 16U);
  example.remove(5, 9);  // the first vector is empty
  EXPECT_EQ(example.places(), 8U);
}

TEST(Blocks, TwoReceivesFillALine) {
  EXPECT_EQ(ArrayLayout(2).block_bytes(), 64U);
}

template <class List>
void expect_numbers_beyond_32_bits() {
  Example<List> example(8);
  const std::vector<std::uint64_t> numbers = {7,           8,          0xFFFF0000, 0x100000000,
                                              0x100000008, 1ULL << 40, 3ULL << 50, (3ULL << 50) + 1};
  int tag = 0;
  for (const std::uint64_t number : numbers) {
    ++tag;
    example.list.append(element_of({.tag = tag}, item_of(tag), number));
  }
  std::vector<std::uint64_t> found;
  example.list.for_each([&](const Element& element) { found.push_back(element.sequence); });
  EXPECT_EQ(found, numbers);
}

template <class List>
void expect_empty_blocks_leave() {
  constexpr int many = 10'000;
  Example<List> example(8);
  example.add(1, many);
  const std::size_t large = example.memory.bytes();
  example.remove(2, many);
  example.add(many + 1, 2 * many - 1);
  EXPECT_EQ(example.memory.bytes(), large);
  example.remove(1, 1);
  example.remove(many + 1, 2 * many - 1);
  EXPECT_LT(example.memory.bytes(), large / 10);
}

TEST(Blocks, WithoutElementsLeave) {
  expect_empty_blocks_leave<ArrayList>();
  expect_empty_blocks_leave<VectorList>();
}

TEST(Blocks, NumbersGoBeyond32Bits) {
  expect_numbers_beyond_32_bits<ArrayList>();
  expect_numbers_beyond_32_bits<VectorList>();
}

TEST(Blocks, AllKindsOfVectorsFindWhatOneByOneFinds) {
  constexpr int keys = 64, cases = 20'000;
  alignas(64) std::uint64_t key[keys], mask[keys];
  std::uint32_t context[keys];
  std::mt19937 random(seed());
  int compared = 0;
  for (int number = 0; number < cases; ++number) {
    for (int i = 0; i < keys; ++i) {
      key[i] = key_of({.source = static_cast<int>(random() % 3), .tag = static_cast<int>(random() % 40)});
      mask[i] = ~wild_bits[random() % 8 == 0 ? random() % shapes : 0];
      context[i] = random() % 2;
    }
    const int begin = static_cast<int>(random() % (keys / vector_keys)) * vector_keys;
    const int end = begin + static_cast<int>(random() % static_cast<unsigned>(keys - begin + 1));
    const std::uint64_t wanted = key_of({.source = 1, .tag = static_cast<int>(random() % 40)});
    const std::uint64_t bits = ~wild_bits[random() % shapes];
    const bool has_masks = random() % 2 == 0;
    int expected = begin;
    while (expected < end && (((key[expected] ^ wanted) & bits & (has_masks ? mask[expected] : ~0ULL)) != 0 ||
                              context[expected] != 1))
      ++expected;
    if (expected == end) expected = -1;
    for (int i = 0; vector_means(i) != nullptr; ++i) {
      if (!vector_means(i)->is_there()) continue;
      ASSERT_EQ(
          vector_means(i)->find({key, has_masks ? mask : nullptr, context}, begin, end, wanted, bits, 1),
          expected)
          << vector_means(i)->name;
      ++compared;
    }
  }
  EXPECT_GE(compared, cases);
}

}  // namespace
}  // namespace unisono::matching
