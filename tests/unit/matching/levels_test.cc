// SPDX-License-Identifier: BSD-3-Clause
// M3 and M4: levels of partners and of collectives' lists, and their bounds; the counters of structures.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "matching/catalogue.h"
#include "matching/collective_lists.h"
#include "matching/dynamic_partners.h"
#include "matching/linked_list.h"
#include "matching/queue_profile.h"

namespace unisono::matching {
namespace {

Item item_of(int number) {
  return reinterpret_cast<Item>(static_cast<std::intptr_t>(number) + 1);
}

// The lists of a router, with messages that arrive and stay.
struct Arrivals {
  explicit Arrivals(const DynamicPartners::Settings& settings) : partners(settings, &numbers) { grow(); }

  void arrive(int source) {
    const Envelope message{.source = source};
    const std::uint32_t number = partners.target(message);
    lists[number].append(element_of(message, item_of(count), static_cast<std::uint64_t>(count)));
    ++count;
    partners.appended(number, lists[number], &numbers);
    grow();
  }
  std::vector<std::uint32_t> way_to(int source) const {
    std::vector<std::uint32_t> way;
    partners.route({.source = source}, [&](std::uint32_t number) {
      way.push_back(number);
      return false;
    });
    return way;
  }
  void grow() {
    while (lists.size() < numbers.count()) lists.emplace_back(&memory);
  }

  ListNumbers numbers;
  DynamicPartners partners;
  LinkedList::Memory memory{ListSettings()};
  std::vector<LinkedList> lists;
  int count = 0;
};

// Figure 4.3: who is a partner of level 0 has the initial list and its own; one of level 1 has the
// non-partners' list of level 0 between them.
TEST(Partners, AreSearchedForLevelByLevel) {
  Arrivals arrivals({.ranks = 16, .longest_list = 10});
  EXPECT_EQ(arrivals.way_to(3), (std::vector<std::uint32_t>{0}));
  for (int i = 0; i < 10; ++i) arrivals.arrive(3);
  EXPECT_EQ(arrivals.partners.levels(), 0U);
  arrivals.arrive(3);  // list 0 is longer than 10: source 3 gets list 1, others list 2
  EXPECT_EQ(arrivals.partners.levels(), 1U);
  EXPECT_EQ(arrivals.way_to(3), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(arrivals.way_to(5), (std::vector<std::uint32_t>{0, 2}));
  for (int i = 0; i < 11; ++i) arrivals.arrive(5);
  EXPECT_EQ(arrivals.partners.levels(), 2U);
  EXPECT_EQ(arrivals.way_to(3), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(arrivals.way_to(5), (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(arrivals.way_to(6), (std::vector<std::uint32_t>{0, 2, 4}));
}

TEST(Partners, WhoHasMoreThanTheAverageIsOne) {
  Arrivals arrivals({.ranks = 4, .longest_list = 7});
  for (const int source : {0, 0, 0, 1, 1, 1, 2, 2}) arrivals.arrive(source);  // the average is 2
  EXPECT_EQ(arrivals.partners.partners(), 2U);
  EXPECT_EQ(arrivals.way_to(0).size(), 2U);
  EXPECT_NE(arrivals.way_to(0), arrivals.way_to(1));
  EXPECT_EQ(arrivals.way_to(2), arrivals.way_to(3));
}

TEST(Partners, AreAtMostCTimesTheRootOfTheRanks) {
  for (const int places : {1, 2, 8}) {
    constexpr int ranks = 400;
    Arrivals arrivals({.ranks = ranks, .longest_list = 25, .places = places});
    for (int i = 0; i < 40; ++i)
      for (int source = 0; source < ranks; ++source) arrivals.arrive(source);
    EXPECT_EQ(arrivals.partners.partners(), static_cast<std::size_t>(20 * places));
  }
  Arrivals unbounded({.ranks = 400, .longest_list = 25, .places = 0});
  for (int i = 0; i < 40; ++i)
    for (int source = 0; source < 400; ++source) unbounded.arrive(source);
  EXPECT_EQ(unbounded.partners.partners(), 400U);
}

// The hash table has sqrt(N) entries of c places.
TEST(Partners, OfOneEntryAreAtMostC) {
  Arrivals arrivals({.ranks = 400, .longest_list = 25, .places = 2});
  for (int i = 0; i < 40; ++i)
    for (int source = 0; source < 400; source += 20) arrivals.arrive(source);
  EXPECT_EQ(arrivals.partners.partners(), 2U);
}

// A search of a collective's call that looked at so many elements.
Envelope of_call(int call, int bytes_class = 0) {
  return {.kind = {.operation = 1,
                   .bytes_class = static_cast<std::uint8_t>(bytes_class),
                   .call = static_cast<std::uint8_t>(call)}};
}

TEST(Collectives, GetAsManyListsAsASearchLookedAt) {
  ListNumbers numbers;
  CollectiveLists lists(100, &numbers);
  for (const std::uint64_t looked_at : {2U, 4U, 6U}) lists.searched(of_call(1), looked_at, &numbers);
  EXPECT_EQ(lists.dedicated(), 0U);
  EXPECT_EQ(lists.target({.source = 7, .kind = {.operation = 1}}), 0U);
  lists.searched(of_call(2), 50, &numbers);  // the second call
  EXPECT_EQ(lists.dedicated(), 4U);
  // List 0 is the profiling list, level 1 has lists 1 to 4: rank 7 has the one of 7 mod 4.
  EXPECT_EQ(lists.target({.source = 7, .kind = {.operation = 1}}), 4U);
  EXPECT_EQ(lists.target({.source = 7, .kind = {.operation = 2}}), 0U);
  // Other parameters that need no more lists get no new level.
  lists.searched(of_call(3, 5), 1, &numbers);
  lists.searched(of_call(4, 5), 1, &numbers);
  EXPECT_EQ(lists.dedicated(), 4U);
  // Searches in a level of four lists looked at two: one list would need eight.
  lists.searched(of_call(5, 6), 2, &numbers);
  lists.searched(of_call(6, 6), 2, &numbers);
  EXPECT_EQ(lists.dedicated(), 12U);
  EXPECT_EQ(lists.target({.source = 7, .kind = {.operation = 1}}), 5U + 7U);
}

// Section 5.3.2, k = 1: rank 0 of a gather gets 32, 45 and 64 lists on 1024, 2048 and 4096 ranks.
TEST(Collectives, ARootOfAGatherGetsTheListsOfSection532) {
  for (const auto& [ranks, expected] : {std::pair{1024, 32U}, std::pair{2048, 45U}, std::pair{4096, 64U}}) {
    ListNumbers numbers;
    CollectiveLists lists(static_cast<std::uint32_t>(std::sqrt(ranks)), &numbers);
    for (int i = 0; i < ranks; ++i) lists.searched(of_call(0), static_cast<std::uint64_t>(i), &numbers);
    lists.searched(of_call(1), 0, &numbers);
    EXPECT_EQ(lists.dedicated(), expected);
  }
}

// 64 sources put ten messages each into a queue, and the youngest of each is taken: searches of each
// structure look at as many elements as its lists are long.
TEST(Counters, ElementsLookedAtAreThoseOfTheListsThatWereSearched) {
  constexpr int ranks = 64, of_each = 10, all = ranks * of_each;
  Profile profile{.ranks = ranks};
  for (int source = 0; source < ranks; ++source) profile.unexpected[{0, source}] = source < 32 ? 10 : 1000;
  const auto looked_at = [&](std::string_view name,
                             std::vector<std::pair<std::string_view, std::int64_t>> values) {
    const auto queues =
        make_queues(*find(name), {.ranks = ranks, .profile = &profile, .values = std::move(values)});
    const std::size_t before = queues->memory_bytes();
    for (int i = 0; i < all; ++i) queues->arrive({.source = i % ranks, .tag = i / ranks}, item_of(i));
    EXPECT_EQ(queues->posted().searches, static_cast<std::uint64_t>(all));
    EXPECT_EQ(queues->posted().traversals, 0U);
    EXPECT_EQ(queues->unexpected().depth, static_cast<std::uint64_t>(all));
    EXPECT_GE(queues->memory_bytes(), before);
    for (int source = ranks; source-- > 0;)
      EXPECT_EQ(queues->take({.source = source, .tag = of_each - 1}), item_of(all - ranks + source));
    EXPECT_EQ(queues->unexpected().searches, static_cast<std::uint64_t>(ranks));
    EXPECT_EQ(queues->unexpected().deepest, static_cast<std::uint64_t>(all));
    return static_cast<double>(queues->unexpected().traversals) / ranks;
  };
  EXPECT_DOUBLE_EQ(looked_at("list", {}), all - 31.5);
  EXPECT_DOUBLE_EQ(looked_at("by_source", {}), of_each);
  EXPECT_DOUBLE_EQ(looked_at("clusters_k_means", {{"k", 2}}), all / 2 - 15.5);
  EXPECT_DOUBLE_EQ(looked_at("arrays", {{"block", 10}}), all - 31.5);
  EXPECT_LT(looked_at("partners_static", {}), all / 4.0 + of_each);
  EXPECT_LT(looked_at("partners_dynamic", {{"t", 64}}), all - 31.5);
  EXPECT_LE(looked_at("ucx", {}), of_each);
  EXPECT_LE(looked_at("own", {}), 9);
}

}  // namespace
}  // namespace unisono::matching
