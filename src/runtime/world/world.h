// SPDX-License-Identifier: BSD-3-Clause
// The job as this process finds it when it starts: its ranks, its nodes, what they may use, and what the user
// wants. Nothing of it changes until the job ends, but that a rank may die.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/options.h"
#include "host/host.h"
#include "model/machine.h"
#include "model/measured_choices.h"
#include "patterns/layout.h"
#include "runtime/world/notices.h"
#include "shm/pool/pool.h"

namespace unisono::runtime {

class World {
 public:
  // Collective over the host's world. Rank 0's options hold for all, and it says what was wrong with them.
  // What cannot be had leaves it closed; the log says why.
  World(host::Host& host, Options own, const std::vector<std::string>& warnings);
  World(const World&) = delete;

  // Is Unisono of use here? Else nothing below is set, and every call is the host's.
  bool is_open() const { return pool != nullptr; }
  // Messages go on aside where every rank's host may be called by several threads. Collective.
  void agree_on_calls_aside();
  // Gives back what it holds. Collective, unless a rank has died.
  void close();

  std::string as_rank_0_has_it(std::string text) const;
  patterns::Layout layout() const { return patterns::Layout::from_labels(node_labels); }
  const shm::CoreShare& own_cores() const { return cores[static_cast<std::size_t>(rank)]; }
  bool shares_cores() const { return own_cores().is_crowded; }

  host::Host& host;
  const double started_s = now_s();
  const int rank, size;
  Notices& notices() const { return notices_; }

  host::Comm comm{};  // the ranks once more, for messages of Unisono's own
  Options options;    // rank 0's
  std::unique_ptr<shm::Pool> pool;
  std::vector<int> node_labels;                          // By rank.
  std::vector<shm::CoreShare> cores;                     // By rank: what its node may use.
  std::shared_ptr<const patterns::SwitchTree> switches;  // Null: nothing is known of any.
  std::vector<int> switch_of;                            // By rank: the switch that its node hangs on.
  std::optional<model::Machine> machine;                 // by whose times algorithms may be predicted
  model::MeasuredChoices measured;  // of the machine's file, as far as the user says nothing
  // May calls go on by the host's functions wherever the program is? Else by shared memory alone.
  bool may_call_host_aside = false;
  // What is collective would wait for ever.
  mutable std::atomic<bool> has_lost_peer{false};

 private:
  bool is_fault_tolerant() const;
  void agree_on_options(const std::vector<std::string>& warnings);
  void make_pool();
  void find_nodes();

  mutable Notices notices_;
};

}  // namespace unisono::runtime
