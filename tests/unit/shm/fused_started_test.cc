// SPDX-License-Identifier: BSD-3-Clause
// Fused operations of calls that must not wait. One thread lets all ranks go on in any order, so that
// whatever waited would stand still.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ranks.h"

namespace unisono::shm {
namespace {

constexpr std::size_t bytes_of_word = 8;
using WordList = std::vector<std::uint64_t>;

std::uint64_t joined(std::uint64_t a, std::uint64_t b) {
  return a * 1000003 + b;  // neither commutes nor is it associative
}
void join_words(const void*, void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, static_cast<const char*>(left) + i * bytes_of_word, bytes_of_word);
    std::memcpy(&b, static_cast<const char*>(right) + i * bytes_of_word, bytes_of_word);
    const std::uint64_t both = joined(a, b);
    std::memcpy(static_cast<char*>(into) + i * bytes_of_word, &both, bytes_of_word);
  }
}
const Combine joining_words = {.call = join_words, .element_bytes = bytes_of_word};

constexpr std::uint64_t before = 7;
constexpr Operation all_operations[] = {
    Operation::barrier,   Operation::bcast,    Operation::reduce,
    Operation::allreduce, Operation::gather,   Operation::scatter,
    Operation::allgather, Operation::alltoall, Operation::reduce_scatter_block,
    Operation::scan,      Operation::exscan};

// What all ranks agree on.
struct Plan {
  Operation operation;
  int ranks, root;
  std::uint32_t number;
  std::size_t count;  // words of the message or of a block
  bool is_in_place;

  std::uint64_t word(int rank, std::size_t i) const {
    return number * 2654435761U + static_cast<std::uint32_t>(rank) * 40503U + i;
  }
  bool has_blocks_in() const {
    return operation == Operation::scatter || operation == Operation::alltoall ||
           operation == Operation::reduce_scatter_block;
  }
  bool has_blocks_out() const {
    return operation == Operation::gather || operation == Operation::allgather ||
           operation == Operation::alltoall;
  }
  std::size_t words(bool has_blocks) const {
    return has_blocks ? count * static_cast<std::size_t>(ranks) : count;
  }
  std::uint64_t join(int operands, std::size_t i) const {
    std::uint64_t all = word(0, i);
    for (int rank = 1; rank < operands; ++rank) all = joined(all, word(rank, i));
    return all;
  }
  // What `rank` has in `into` behind the call, at word i.
  std::uint64_t expected(int rank, std::size_t i) const {
    const int block = static_cast<int>(i / count);
    const std::size_t inside = i % count, own = static_cast<std::size_t>(rank) * count;
    switch (operation) {
      case Operation::bcast:
        return word(root, i);
      case Operation::reduce:
        return rank == root ? join(ranks, i) : before;
      case Operation::allreduce:
        return join(ranks, i);
      case Operation::scan:
        return join(rank + 1, i);
      case Operation::exscan:
        return rank == 0 ? before : join(rank, i);
      case Operation::gather:
        return rank == root ? word(block, inside) : before;
      case Operation::allgather:
        return word(block, inside);
      case Operation::scatter:
        return word(root, own + i);
      case Operation::alltoall:
        return word(block, own + inside);
      case Operation::reduce_scatter_block:
        return join(ranks, own + i);
      default:
        return before;
    }
  }
};

Plan some_plan(std::minstd_rand* random, int ranks, std::uint32_t number, std::size_t longest_bytes) {
  Plan plan{.operation = all_operations[(*random)() % std::size(all_operations)],
            .ranks = ranks,
            .root = static_cast<int>((*random)() % static_cast<std::uint32_t>(ranks)),
            .number = number,
            .count = 0,
            .is_in_place = (*random)() % 3 == 0};
  const std::size_t blocks = plan.has_blocks_in() ? static_cast<std::size_t>(ranks) : 1;
  const std::size_t most = longest_bytes / bytes_of_word / blocks;
  plan.count = 1 + (*random)() % ((*random)() % 8 == 0 ? most : std::min<std::size_t>(most, 20));
  return plan;
}

class StartedRank {
 public:
  StartedRank(void* memory, const SliceShape& shape, int rank, WaitPolicy policy)
      : slice_(memory, shape, rank, {.policy = policy}) {}

  // True where the call is over.
  bool go_on(const Plan& plan) {
    if (stage_ == Stage::none) prepare(plan);
    if (stage_ == Stage::prepared && slice_.start_fused(call_)) stage_ = Stage::started;
    if (stage_ != Stage::started || !slice_.end_fused(call_)) return false;
    stage_ = Stage::none;
    expect_result(plan);
    return true;
  }
  std::size_t longest_bytes() const { return slice_.fused_max_bytes(); }

 private:
  enum class Stage : std::uint8_t { none, prepared, started };

  bool is_in_place(const Plan& plan) const {
    const bool is_for_all = plan.operation == Operation::allreduce || plan.operation == Operation::alltoall ||
                            plan.operation == Operation::scan || plan.operation == Operation::exscan;
    return plan.is_in_place && (is_for_all || (plan.operation == Operation::reduce && rank() == plan.root));
  }
  int rank() const { return slice_.local_rank(); }

  void prepare(const Plan& plan) {
    from_.resize(plan.words(plan.has_blocks_in()));
    for (std::size_t i = 0; i < from_.size(); ++i) from_[i] = plan.word(rank(), i);
    into_.assign(plan.words(plan.has_blocks_out()), before);
    if (plan.operation == Operation::bcast && rank() == plan.root) into_ = from_;
    if (is_in_place(plan)) into_ = from_;
    call_ = {.operation = plan.operation,
             .into = into_.data(),
             .from = is_in_place(plan) ? into_.data() : from_.data(),
             .bytes = plan.operation == Operation::barrier ? 0 : plan.count * bytes_of_word,
             .count = plan.count,
             .combine = joining_words,
             .root = plan.root};
    stage_ = Stage::prepared;
  }
  void expect_result(const Plan& plan) const {
    const bool keeps_input = plan.operation == Operation::exscan && rank() == 0 && is_in_place(plan);
    for (std::size_t i = 0; i < into_.size(); ++i) {
      ASSERT_EQ(into_[i], keeps_input ? from_[i] : plan.expected(rank(), i))
          << name(plan.operation) << " " << plan.number << " of " << plan.count << " words, rank " << rank()
          << " at " << i;
    }
  }

  Slice slice_;
  Stage stage_ = Stage::none;
  WordList from_, into_;
  FusedCall call_;
};

class FusedStarted : public ::testing::TestWithParam<int> {
 protected:
  // The first and the last rank go as far as they can before the others begin.
  void run_with_late_ones(const std::vector<Plan>& plans) {
    const SliceShape shape{.local_size = GetParam(), .ring_lines = 256};
    const SharedMemory memory(shape.bytes());
    std::vector<std::unique_ptr<StartedRank>> ranks;
    for (int rank = 0; rank < shape.local_size; ++rank)
      ranks.push_back(std::make_unique<StartedRank>(memory.get(), shape, rank, WaitPolicy::yield));
    std::vector<std::size_t> over(ranks.size(), 0);
    const auto go_on = [&](std::size_t rank) {
      if (over[rank] < plans.size() && ranks[rank]->go_on(plans[over[rank]])) ++over[rank];
    };
    for (int turn = 0; turn < 5000; ++turn) go_on(0), go_on(ranks.size() - 1);
    for (int turn = 0; turn < 5000; ++turn) {
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) go_on(rank);
    }
    EXPECT_EQ(std::ranges::min(over), plans.size())
        << "a rank stands still: what it waits for was overwritten";
  }
  void run(WaitPolicy policy, std::uint32_t seed, std::uint32_t calls) {
    const SliceShape shape{.local_size = GetParam(), .ring_lines = 256};
    const SharedMemory memory(shape.bytes());
    std::vector<std::unique_ptr<StartedRank>> ranks;
    for (int rank = 0; rank < shape.local_size; ++rank)
      ranks.push_back(std::make_unique<StartedRank>(memory.get(), shape, rank, policy));
    std::minstd_rand common(seed), order(seed + 1);
    std::vector<Plan> plans;
    for (std::uint32_t i = 0; i < calls; ++i)
      plans.push_back(some_plan(&common, shape.local_size, i, ranks[0]->longest_bytes()));
    std::vector<std::size_t> over(ranks.size(), 0);
    std::size_t furthest_apart = 0;
    for (std::uint64_t turns = 0; std::ranges::min(over) < plans.size() && !HasFatalFailure(); ++turns) {
      ASSERT_LT(turns, 10'000'000U) << "stands still";
      // For a while one of them is asked more often than others.
      const std::size_t favoured = turns / 500 % ranks.size();
      const std::size_t rank = order() % 4 == 0 ? order() % ranks.size() : favoured;
      if (over[rank] < plans.size() && ranks[rank]->go_on(plans[over[rank]])) ++over[rank];
      furthest_apart = std::max(furthest_apart, std::ranges::max(over) - std::ranges::min(over));
    }
    EXPECT_TRUE(ranks.size() == 1 || furthest_apart > 1) << "ranks that need nobody run ahead";
  }
};

TEST_P(FusedStarted, all_operations_in_any_order) {
  run(WaitPolicy::yield, 5, 4000);
}

// Roots at both ends run ahead of the ranks between them as far as the rings reach, and no further.
TEST_P(FusedStarted, ranks_that_are_far_behind_find_what_is_theirs) {
  const int ranks = GetParam();
  for (const Operation operation : {Operation::bcast, Operation::scatter}) {
    for (const int root : {0, ranks - 1}) {
      std::vector<Plan> plans;
      for (std::uint32_t i = 0; i < 900; ++i) {
        const int now = i == 50 ? ranks - 1 - root : root;
        plans.push_back({.operation = operation,
                         .ranks = ranks,
                         .root = now,
                         .number = i,
                         .count = 1,
                         .is_in_place = false});
      }
      run_with_late_ones(plans);
    }
  }
}

TEST_P(FusedStarted, all_operations_beside_sleepers) {
  run(WaitPolicy::sleep, 9, 1000);
}

INSTANTIATE_TEST_SUITE_P(Ranks, FusedStarted, ::testing::Values(1, 2, 3, 4, 5, 8, 16));

}  // namespace
}  // namespace unisono::shm
