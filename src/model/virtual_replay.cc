// SPDX-License-Identifier: BSD-3-Clause
#include "model/virtual_replay.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace unisono::model {
namespace {

using Item = Recording::Item;

// How often each item is waited for by others than what follows on its core.
std::vector<bool> waited_for(const Recording& recording) {
  std::vector<bool> is_waited(recording.items.size(), false);
  const auto mark = [&](const TimeRef& ref) {
    if (ref.work >= 0) is_waited[static_cast<std::size_t>(ref.work)] = true;
  };
  for (const Item& item : recording.items) {
    mark(item.after);
    if (item.core < 0) mark(item.other);
  }
  std::ranges::for_each(recording.ends, mark);
  return is_waited;
}

// What nobody waits for is done in one go with what follows on its core, unless that waits for something. A
// detour in between comes to the same. -1: it stays by itself; else the item that it becomes a part of.
std::vector<std::int32_t> parts_of_next(const Recording& recording, int cores) {
  const std::vector<bool> is_waited = waited_for(recording);
  std::vector<std::int32_t> last(static_cast<std::size_t>(cores), -1), part_of(recording.items.size(), -1);
  for (std::size_t i = 0; i < recording.items.size(); ++i) {
    const Item& item = recording.items[i];
    if (item.core < 0) continue;
    std::int32_t& before = last[static_cast<std::size_t>(item.core)];
    if (before >= 0 && item.after.work < 0 && !is_waited[static_cast<std::size_t>(before)])
      part_of[static_cast<std::size_t>(before)] = static_cast<std::int32_t>(i);
    before = static_cast<std::int32_t>(i);
  }
  return part_of;
}

}  // namespace

std::size_t Replay::FiguresHash::operator()(const Figures& figures) const {
  const auto after = std::bit_cast<std::uint64_t>(figures.after_us);
  return (after ^ (after >> 29)) * 0x9e3779b97f4a7c15u ^ std::bit_cast<std::uint64_t>(figures.us);
}

// An item that became a part of a later one is not there any more: what it waits for and its work are that
// one's. Nobody else names it.
Replay::Replay(const Recording& recording, const Cores& cores) : core_us_(recording.ends.size()) {
  const std::vector<std::int32_t> part_of = parts_of_next(recording, static_cast<int>(core_us_.size()));
  std::unordered_map<Figures, std::uint32_t, FiguresHash> known;
  const auto number_of = [&](const Figures& figures) {
    const auto [found, is_new] = known.try_emplace(figures, static_cast<std::uint32_t>(figures_.size()));
    if (is_new) figures_.push_back(figures);
    return found->second;
  };
  std::vector<std::int32_t> number(recording.items.size(), -1);
  const auto renumbered = [&](TimeRef ref) {
    if (ref.work >= 0) ref.work = number[static_cast<std::size_t>(ref.work)];
    return ref;
  };
  std::vector<Item> open(core_us_.size());  // by core: parts of what comes next
  for (std::size_t i = 0; i < recording.items.size(); ++i) {
    Item item = recording.items[i];
    item.after = renumbered(item.after);
    if (item.core < 0) {
      const TimeRef other = renumbered(item.other);
      number[i] = static_cast<std::int32_t>(works_.size());
      works_.push_back({-2 - other.work, item.after.work, number_of({item.after.after_us, other.after_us})});
      continue;
    }
    Item& parts = open[static_cast<std::size_t>(item.core)];
    if (parts.core >= 0) {
      item.after = parts.after;
      item.us += parts.us;
      parts = {};
    }
    if (part_of[i] >= 0) {
      parts = item;
      continue;
    }
    number[i] = static_cast<std::int32_t>(works_.size());
    works_.push_back(
        {item.core, item.after.work, number_of({item.after.after_us, item.us * cores.slowness(item.core)})});
  }
  for (const TimeRef& end : recording.ends) ends_.push_back(renumbered(end));
  done_us_.resize(works_.size());
}

void Replay::run(std::span<const double> begins, Cores* cores, std::span<double> ends) {
  std::ranges::copy(begins, core_us_.begin());
  double* const core_us = core_us_.data();
  double* done_us = done_us_.data();
  const double* const all_done_us = done_us;
  const Figures* const figures = figures_.data();
  for (const Work& work : works_) {
    const Figures& of = figures[work.figures];
    if (work.core >= 0) {
      const auto core = static_cast<std::size_t>(work.core);
      double us = core_us[core];
      if (work.after >= 0) us = std::max(us, all_done_us[work.after] + of.after_us);
      *done_us++ = core_us[core] = cores->end_of_own_work(core, us, of.us);
    } else {
      *done_us++ = std::max(all_done_us[work.after] + of.after_us, all_done_us[-2 - work.core] + of.us);
    }
  }
  for (std::size_t i = 0; i < ends.size(); ++i)
    ends[i] = all_done_us[static_cast<std::size_t>(ends_[i].work)] + ends_[i].after_us;
}

}  // namespace unisono::model
