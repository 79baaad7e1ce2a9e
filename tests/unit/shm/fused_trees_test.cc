// SPDX-License-Identifier: BSD-3-Clause
// Fused operations along trees, mixed with those along none: 1 to 9 and 16 ranks, domains of all kinds.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "patterns/domain_tree.h"
#include "ranks.h"

namespace unisono::shm {
namespace {

using patterns::DomainTree;

// Whatever comes in another order, or joined in another way, shows.
constexpr std::size_t word_bytes = 8;
void append_words(const void*, void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, static_cast<const char*>(left) + i * word_bytes, word_bytes);
    std::memcpy(&b, static_cast<const char*>(right) + i * word_bytes, word_bytes);
    const std::uint64_t joined = a * 1000003 + b;  // neither commutes nor is it associative
    std::memcpy(static_cast<char*>(into) + i * word_bytes, &joined, word_bytes);
  }
}
const Combine appending = {.call = append_words, .element_bytes = word_bytes};

using Words = std::vector<std::uint64_t>;

Words words_of(int rank, std::uint32_t call, std::size_t count) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i)
    words[i] = call * 2654435761U + static_cast<std::uint32_t>(rank) * 40503U + i;
  return words;
}

Words joined_below(const DomainTree& tree, int rank, std::uint32_t call, std::size_t count) {
  Words words = words_of(rank, call, count);
  for (const int child : tree.children[static_cast<std::size_t>(rank)]) {
    const Words more = joined_below(tree, child, call, count);
    append_words(nullptr, words.data(), words.data(), more.data(), count);
  }
  return words;
}

// A row of ranks cut anywhere, into domains of domains.
std::shared_ptr<const DomainTree> some_tree(std::minstd_rand* random, int ranks, int root) {
  patterns::Layout layout = patterns::Layout::one_node(ranks);
  std::vector<patterns::DomainLabels> levels((*random)() % 4);
  for (patterns::DomainLabels& level : levels)
    for (int rank = 0; rank < ranks; ++rank) level.labels.push_back(static_cast<int>((*random)() % 3));
  layout.divide(levels);
  return std::make_shared<const DomainTree>(patterns::domain_tree(layout, 0, root));
}

struct TreeCaller {
  Slice& slice;
  const DomainTree& tree;
  std::uint32_t call;
  int rank = slice.local_rank();
  TreePlace place{.parent = tree.parent[static_cast<std::size_t>(rank)],
                  .children = tree.children[static_cast<std::size_t>(rank)]};

  void bcast(std::size_t count) const {
    Words data = rank == tree.root ? words_of(rank, call, count) : Words(count, 7);
    slice.bcast(data.data(), count * word_bytes, place);
    EXPECT_EQ(data, words_of(tree.root, call, count)) << "bcast " << call << " rank " << rank;
  }
  void reduce(std::size_t count, bool is_in_place) const {
    Words from = words_of(rank, call, count), into(count, 7);
    const bool is_over_input = is_in_place && rank == tree.root;
    slice.reduce(is_over_input ? from.data() : into.data(), from.data(), count, appending, place);
    if (rank == tree.root) {
      EXPECT_EQ(is_over_input ? from : into, joined_below(tree, rank, call, count)) << "reduce " << call;
    } else {
      EXPECT_EQ(from, words_of(rank, call, count));
      EXPECT_EQ(into, Words(count, 7)) << "only the root gets something";
    }
  }
  void allreduce(std::size_t count, bool is_in_place) const {
    Words from = words_of(rank, call, count), into(count, 7);
    slice.allreduce(is_in_place ? from.data() : into.data(), from.data(), count, appending, place);
    EXPECT_EQ(is_in_place ? from : into, joined_below(tree, tree.root, call, count)) << "allreduce " << call;
  }
};

void mixed_along_trees(Slice& slice, std::uint32_t seed, std::uint32_t calls) {
  std::minstd_rand common(seed);  // the same on all ranks
  Delays delays(seed + 1 + static_cast<std::uint32_t>(slice.local_rank()));
  const std::size_t longest = slice.fused_max_bytes() / word_bytes;
  for (std::uint32_t call = 0; call < calls && !::testing::Test::HasFailure(); ++call) {
    const int root = static_cast<int>(common() % static_cast<std::uint32_t>(slice.local_size()));
    const auto tree = some_tree(&common, slice.local_size(), root);
    const TreeCaller caller{slice, *tree, call};
    const auto kind = common() % 6;
    const std::size_t most = kind == 2 ? longest / 2 : longest;
    const std::size_t count = common() % ((common() % 8 == 0 ? most : std::min<std::size_t>(most, 40)) + 1);
    const bool is_in_place = common() % 2 == 0;
    delays.maybe();
    if (kind == 0) caller.bcast(count);
    if (kind == 1) caller.reduce(count, is_in_place);
    if (kind == 2) caller.allreduce(count, is_in_place);
    if (kind == 3) slice.barrier(caller.place);
    if (kind == 4) slice.barrier();
    if (kind == 5) {
      std::uint64_t flat = slice.local_rank() == root ? call : 0;
      slice.bcast(&flat, sizeof flat, root);
      EXPECT_EQ(flat, call);
    }
  }
}

class FusedTrees : public ::testing::TestWithParam<int> {
 protected:
  SliceShape shape_{.local_size = GetParam(), .ring_lines = 256};
};

TEST_P(FusedTrees, mixed_operations_in_threads) {
  run_threads(shape_, {.policy = WaitPolicy::yield}, [](Slice& slice) { mixed_along_trees(slice, 3, 1500); });
}

TEST_P(FusedTrees, mixed_operations_of_ranks_that_sleep) {
  run_processes(shape_, {.policy = WaitPolicy::sleep},
                [](Slice& slice) { mixed_along_trees(slice, 4, 400); });
}

TEST_P(FusedTrees, barrier_holds_everybody) {
  std::array<std::atomic<int>, 16> arrived{};
  run_threads(shape_, {.policy = WaitPolicy::yield}, [&](Slice& slice) {
    std::minstd_rand common(5);
    Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
    for (int call = 1; call <= 500; ++call) {
      const auto tree = some_tree(&common, slice.local_size(), call % slice.local_size());
      const TreePlace place = TreeCaller{slice, *tree, 0}.place;
      delays.maybe();
      arrived[static_cast<std::size_t>(slice.local_rank())].store(call);
      if (call % 2 == 0) {
        slice.barrier(place);
      } else {
        slice.await_below(place);
        slice.await_above(place);
      }
      for (int peer = 0; peer < slice.local_size(); ++peer)
        EXPECT_GE(arrived[static_cast<std::size_t>(peer)].load(), call);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, FusedTrees, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16));

}  // namespace
}  // namespace unisono::shm
