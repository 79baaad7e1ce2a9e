// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_schedule.h"

#include <algorithm>

#include "proof/check_run.h"

namespace unisono::proof {
namespace {

void append(std::vector<std::string>* to, const std::vector<std::string>& from, const std::string& suffix) {
  for (const std::string& text : from) to->push_back(text + suffix);
}

void check_dependencies(const CheckPlan& plan, const CheckEffort& effort,
                        std::vector<std::string>* failures) {
  if (effort.most_ranks_ordered == 0) return;
  for (int call = 0; call < plan.calls(); ++call) {
    const int step = std::max(1, (plan.ranks() + effort.most_ranks_ordered - 1) / effort.most_ranks_ordered);
    for (int rank = 0; rank < plan.ranks(); rank += step) {
      check_order(plan.call(call), plan.program(call, rank), plan.edges(call)[rank], failures);
    }
    if (failures->empty()) check_posting(plan.call(call), plan.programs(call), plan.edges(call), failures);
  }
}

// Orders that are as unlike each other as can be, then random ones.
CheckPolicy policy_of(int number, int ranks, std::uint32_t seed) {
  using Pick = CheckPolicy::Pick;
  constexpr Pick picks[] = {Pick::newest, Pick::random, Pick::slow_rank, Pick::fast_rank};
  const Pick pick = number < 4 ? picks[number] : picks[1 + number % 3];
  const std::uint32_t own_seed = seed * 2654435761u + static_cast<std::uint32_t>(number);
  return {.pick = pick, .is_stern = false, .rank = static_cast<int>(own_seed % ranks), .seed = own_seed};
}

}  // namespace

std::vector<std::string> check(const std::vector<const CheckedCall*>& calls,
                               const std::vector<std::int64_t>& elements, const CheckLoad& load,
                               const CheckEffort& effort) {
  const CheckPlan plan(calls, elements, load);
  std::vector<std::string> failures = plan.failures();
  if (!failures.empty()) return failures;
  check_dependencies(plan, effort, &failures);
  if (!failures.empty()) return failures;
  const CheckPolicy stern;
  append(&failures, CheckRun(plan, stern).run(), "");
  for (int number = 0; number < effort.orders && failures.empty(); ++number) {
    const CheckPolicy policy = policy_of(number, plan.ranks(), effort.seed);
    append(&failures, CheckRun(plan, policy).run(), " [" + describe(policy) + "]");
  }
  return failures;
}

std::int64_t most_pieces(const CheckedCall& call, const CheckLoad& load) {
  std::int64_t most = 1;
  const LoadedProgram program(call, 0, load);
  const auto stages = static_cast<int>(program.program().stages.size());
  for (int stage = 0; stage < stages; ++stage) most = std::max(most, program.pieces(stage));
  return most;
}

}  // namespace unisono::proof
