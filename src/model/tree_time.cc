// SPDX-License-Identifier: BSD-3-Clause
// Fused operations along a tree of a node's ranks, in virtual time: what all join goes up, what all get comes
// down (shm/slice/fused_trees.cc).
#include "model/virtual_run.h"

namespace unisono::model {

using schedule::StepKind;

// What a rank writes on the way down is numbered behind what all write on the way up.
void VirtualRun::write_along(int index, std::int32_t number, std::int32_t operation, bool is_down,
                             double us) {
  const std::int32_t local_rank = crew_.local_rank_of[static_cast<std::size_t>(index)];
  write_fused(index, number, operation, local_rank + (is_down ? locals_of(index) : 0), us);
}

void VirtualRun::start_along(int index, std::int32_t number, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  const std::int32_t operation = rank.fused++;
  rank.is_coming_down = !goes_up(step.kind, step.tick);
  if (options_.recorder != nullptr) record_work(index, number, machine_.shared.fused_us);
  wait_along(index, number, operation, take_core_alone(index, us, machine_.shared.fused_us).ends);
}

void VirtualRun::wait_along(int index, std::int32_t number, std::int32_t operation, double us) {
  Fused& fused = fused_of(index, operation);
  if (has_heard_along(fused, steps_[static_cast<std::size_t>(index)].at(number), index)) {
    go_along(index, number, operation, us);
  } else {
    fused.waiting.push_back({index, number});
  }
}

// The messages that a rank waits for at present.
std::vector<std::int32_t> VirtualRun::awaited_along(const LiveStep& step, int index) const {
  const auto local_rank = static_cast<std::size_t>(crew_.local_rank_of[static_cast<std::size_t>(index)]);
  if (!ranks_[static_cast<std::size_t>(index)].is_coming_down) {
    const std::vector<int>& children = step.along->children[local_rank];
    return {children.begin(), children.end()};
  }
  const int parent = step.along->parent[local_rank];
  if (parent < 0) return {};
  return {parent + locals_of(index)};
}

bool VirtualRun::has_heard_along(const Fused& fused, const LiveStep& step, int index) const {
  for (const std::int32_t writing : awaited_along(step, index)) {
    const auto at = static_cast<std::size_t>(writing);
    if (at >= fused.has_come.size() || !fused.has_come[at]) return false;
  }
  return true;
}

// What the rank has waited for is there.
void VirtualRun::go_along(int index, std::int32_t number, std::int32_t operation, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  const auto local_rank = static_cast<std::size_t>(crew_.local_rank_of[static_cast<std::size_t>(index)]);
  const SharedMemory& shared = machine_.shared;
  const std::int64_t bytes = step.kind == StepKind::node_barrier ? 0 : size_.bytes_of(step.elements_of(0));
  const bool is_root = step.along->parent[local_rank] < 0;
  const bool has_others_below = !step.along->children[local_rank].empty();
  double cost = 0;
  for (const std::int32_t writing : awaited_along(step, index)) {
    cost += fetch_time(index, writing % locals_of(index), bytes);
    if (!rank.is_coming_down && is_fused_reduction(step.kind)) cost += shared.combine_us.at(bytes);
    if (options_.recorder != nullptr)
      options_.recorder->wait_for(
          index, number,
          options_.recorder->entered(crew_.node_of[static_cast<std::size_t>(index)], operation, writing));
  }
  const bool turns = !rank.is_coming_down && is_root && goes_down(step.kind, step.tick);  // up becomes down
  const bool is_down = rank.is_coming_down || turns;
  const bool is_writing = is_down ? has_others_below : !is_root;
  if (is_writing) cost += line_time(bytes, shared.put_us);
  const double done = take_core_alone(index, us, cost).ends;
  if (options_.recorder != nullptr) record_work(index, number, cost);
  if (is_writing) write_along(index, number, operation, is_down, done);
  if (is_down || !goes_down(step.kind, step.tick)) return push_finish(index, number, 0, done);
  rank.is_coming_down = true;
  wait_along(index, number, operation, done);
}

}  // namespace unisono::model
