// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is on cores that ranks share, in virtual time. A rank has its core until it has nothing to
// do, and then gives it to the next one, which takes a switch. Ranks that wait take their turns as well: each
// looks whether it may go on.
#include <algorithm>
#include <cmath>

#include "model/virtual_run.h"

namespace unisono::model {

std::vector<std::size_t> ranks_on_cores(const std::vector<std::vector<int>>& ranks_of,
                                        const Machine& machine) {
  const auto together = static_cast<std::size_t>(machine.nodes_on_cores);
  std::vector<std::size_t> ranks((ranks_of.size() + together - 1) / together);
  for (std::size_t node = 0; node < ranks_of.size(); ++node) ranks[node / together] += ranks_of[node].size();
  return ranks;
}

void VirtualRun::set_up_cores() {
  const auto together = static_cast<std::size_t>(machine_.nodes_on_cores);
  const std::vector<std::size_t> ranks = ranks_on_cores(crew_.indices_of, machine_);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] <= static_cast<std::size_t>(machine_.cores_per_node)) continue;
    share_cores(i * together, std::min(nodes_.size(), (i + 1) * together));
  }
}

// As many ranks on each core, as near as can be. Each node's are dealt out from another core on: the first
// ranks of nodes, which have most to do, are not all on one.
void VirtualRun::share_cores(std::size_t first_node, std::size_t last_node) {
  const auto count = static_cast<std::size_t>(machine_.cores_per_node);
  const std::size_t first = cores_.size();
  cores_.resize(first + count);
  std::size_t dealt = 0;
  for (std::size_t node = first_node; node < last_node; ++node) {
    const std::vector<int>& locals = crew_.indices_of[node];
    for (std::size_t local = 0; local < locals.size(); ++local, ++dealt) {
      std::size_t core = first + (node - first_node + local) % count;
      while (cores_[core].sharers.size() > dealt / count) core = first + (core - first + 1) % count;
      RankState& rank = ranks_[static_cast<std::size_t>(locals[local])];
      rank.core = static_cast<std::int32_t>(core);
      rank.sharer = static_cast<std::int32_t>(cores_[core].sharers.size());
      cores_[core].sharers.push_back({.index = locals[local], .tasks = {}});
    }
  }
  for (std::size_t core = first; core < cores_.size(); ++core) {
    push({.us = 0, .kind = EventKind::turn, .index = static_cast<std::int32_t>(core)});
  }
}

VirtualRun::Core* VirtualRun::core_of(int index) {
  const std::int32_t core = ranks_[static_cast<std::size_t>(index)].core;
  return core < 0 ? nullptr : &cores_[static_cast<std::size_t>(core)];
}

void VirtualRun::hold_core(int index, double until_us) {
  if (Core* core = core_of(index)) core->free_us = std::max(core->free_us, until_us);
}

// Until the next rank has the core that this one gives away.
double VirtualRun::switch_us(int index) const {
  return ranks_[static_cast<std::size_t>(index)].receives > 0 ? machine_.message_switch_us
                                                              : machine_.switch_us;
}

void VirtualRun::keep(int index, Core* core, const Task& task) {
  const RankState& rank = ranks_[static_cast<std::size_t>(index)];
  core->sharers[static_cast<std::size_t>(rank.sharer)].tasks.push_back(task);
  ++core->tasks;
  if (!core->is_idle) return;
  core->is_idle = false;
  // The turn went round meanwhile, some times in full.
  double round_us = 0;
  for (const Core::Sharer& sharer : core->sharers) round_us += switch_us(sharer.index);
  double turn_us = core->idle_since_us;
  if (round_us > 0) {
    turn_us += std::floor((now_ - turn_us) / round_us) * round_us;
    for (; turn_us < now_; core->at = (core->at + 1) % core->sharers.size()) {
      turn_us += switch_us(core->sharers[core->at].index);
    }
  }
  push({.us = std::max(now_, turn_us), .kind = EventKind::turn, .index = rank.core});
}

void VirtualRun::turn(int number) {
  Core& core = cores_[static_cast<std::size_t>(number)];
  const auto next_turn = [&](double us) { push({.us = us, .kind = EventKind::turn, .index = number}); };
  auto& [index, tasks] = core.sharers[core.at];
  // It looks more than once before it gives its core away.
  const double out_us = ranks_[static_cast<std::size_t>(index)].out_free_us;
  const bool is_about_to_go_on = out_us > now_ && out_us < now_ + switch_us(index);
  if (!tasks.empty()) {
    const Task task = tasks.front();
    tasks.pop_front();
    --core.tasks;
    run(index, task, now_);
    next_turn(std::max(now_, core.free_us));
  } else if (is_about_to_go_on) {
    next_turn(out_us);
  } else if (core.tasks > 0) {
    core.at = (core.at + 1) % core.sharers.size();
    next_turn(now_ + switch_us(index));
  } else {
    core.is_idle = true;
    core.idle_since_us = now_;
  }
}

}  // namespace unisono::model
