// SPDX-License-Identifier: BSD-3-Clause
#include "model/virtual_recorder.h"

#include <utility>

namespace unisono::model {
namespace {

std::pair<std::int64_t, int> key_of(int node, std::int32_t number, int local_rank) {
  return {(static_cast<std::int64_t>(node) << 32) | static_cast<std::uint32_t>(number), local_rank};
}

}  // namespace

Recorder::Recorder(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {
  recording_.ends.resize(ranks_.size());
}

TimeRef Recorder::add(const Recording::Item& item) {
  double done = item.us;
  if (item.core >= 0) {
    const TimeRef& before = ranks_[static_cast<std::size_t>(item.core)].core;
    if (before.work >= 0) done += done_us_[static_cast<std::size_t>(before.work)];
  }
  done_us_.push_back(done);
  recording_.items.push_back(item);
  return {static_cast<std::int32_t>(recording_.items.size()) - 1, 0};
}

// Is `a` never later than `by`? Work of one core is done in the order in which it was recorded, and between
// two ends lies at least the work in between.
bool Recorder::is_covered(const TimeRef& a, const TimeRef& by) const {
  if (a.work < 0) return true;
  if (by.work < 0) return false;
  if (a.work == by.work) return a.after_us <= by.after_us;
  const auto& items = recording_.items;
  const std::int32_t core = items[static_cast<std::size_t>(a.work)].core;
  if (core < 0 || core != items[static_cast<std::size_t>(by.work)].core || a.work > by.work) return false;
  const double between =
      done_us_[static_cast<std::size_t>(by.work)] - done_us_[static_cast<std::size_t>(a.work)];
  return a.after_us <= between + by.after_us;
}

TimeRef Recorder::later(const TimeRef& a, const TimeRef& b) {
  if (is_covered(a, b)) return b;
  if (is_covered(b, a)) return a;
  return add({.core = -1, .after = a, .other = b, .us = 0});
}

void Recorder::begin(int index, double us) {
  RankTimes& rank = ranks_[static_cast<std::size_t>(index)];
  if (us != 0) refuse("recorded calls begin at 0");
  rank.core = add({.core = index, .after = {}, .other = {}, .us = 0});
  rank.loaded = recording_.ends[static_cast<std::size_t>(index)] = rank.core;
}

void Recorder::load(int index, std::int32_t cause, std::int32_t first, std::int32_t end) {
  RankTimes& rank = ranks_[static_cast<std::size_t>(index)];
  if (first >= end) return;
  if (cause >= 0) rank.loaded = later(rank.loaded, rank.steps[static_cast<std::size_t>(cause)].finish);
  rank.steps.resize(static_cast<std::size_t>(end));
}

void Recorder::start(int index, std::int32_t step) {
  step_of(index, step).start = ranks_[static_cast<std::size_t>(index)].loaded;
}

void Recorder::wait_for(int index, std::int32_t step, std::int32_t other, bool is_start) {
  const StepTimes& waited = step_of(index, other);
  wait_for(index, step, is_start ? waited.start : waited.finish);
}

void Recorder::wait_for(int index, std::int32_t step, const TimeRef& time) {
  TimeRef& start = step_of(index, step).start;
  // What the core does anyway before is nothing to wait for.
  const TimeRef& core = ranks_[static_cast<std::size_t>(index)].core;
  if (is_covered(start, core)) {
    start = is_covered(time, core) ? core : time;
  } else {
    start = later(start, time);
  }
}

TimeRef Recorder::work(int index, std::int32_t step, double us) {
  const TimeRef start = step_of(index, step).start;
  TimeRef& core = ranks_[static_cast<std::size_t>(index)].core;
  core = add({.core = index, .after = is_covered(start, core) ? TimeRef{} : start, .other = {}, .us = us});
  return core;
}

void Recorder::work(int index, double us) {
  TimeRef& core = ranks_[static_cast<std::size_t>(index)].core;
  core = add({.core = index, .after = {}, .other = {}, .us = us});
}

void Recorder::finish(int index, std::int32_t step, const TimeRef& time) {
  step_of(index, step).finish = time;
  TimeRef& end = recording_.ends[static_cast<std::size_t>(index)];
  end = later(end, time);
}

void Recorder::raise(int node, std::int32_t channel, int local_rank, std::int64_t tick, const TimeRef& time) {
  flags_[key_of(node, channel, local_rank)].push_back({tick, time});
}

TimeRef Recorder::raised(int node, std::int32_t channel, int local_rank, std::int64_t tick) const {
  const auto found = flags_.find(key_of(node, channel, local_rank));
  if (found == flags_.end()) return {};
  for (const Raised& one : found->second) {
    if (one.tick >= tick) return one.time;
  }
  return {};
}

void Recorder::enter_fused(int node, std::int32_t operation, int local_rank, const TimeRef& time) {
  fused_[key_of(node, operation, local_rank)] = time;
}

TimeRef Recorder::entered(int node, std::int32_t operation, int local_rank) const {
  const auto found = fused_.find(key_of(node, operation, local_rank));
  return found == fused_.end() ? TimeRef{} : found->second;
}

}  // namespace unisono::model
