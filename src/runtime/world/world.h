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
#include "runtime/world/agents_here.h"
#include "runtime/world/notices.h"
#include "shm/pool/pool.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {

class World {
 public:
  // Collective over the host's world. Rank 0's options hold for all, and it says what was wrong with them.
  // What cannot be had leaves it closed; the log says why.
  World(host::Host& host, Options own, const std::vector<std::string>& warnings);
  World(const World&) = delete;

  // Is Unisono of use here? Else nothing below is set, and every call is the host's.
  bool is_open() const { return pool != nullptr; }
  // Gives back what it holds. Collective, unless a rank has died.
  void close();

  patterns::Layout layout() const;
  const shm::CoreShare& own_cores() const { return cores[static_cast<std::size_t>(rank)]; }
  bool shares_cores() const { return own_cores().is_crowded; }
  // How ranks of a node wait for each other in collectives.
  shm::WaitPolicy wait_policy() const;

  host::Host& host;
  const double started_s = now_s();
  const int rank, size;
  Notices& notices() const { return notices_; }

  host::Comm comm{};  // the ranks once more, for messages of Unisono's own
  Options options;    // rank 0's
  std::unique_ptr<shm::Pool> pool;
  std::vector<int> node_labels;                          // By rank.
  std::vector<patterns::DomainLabels> domains;           // What nodes consist of; empty: nothing is known.
  std::vector<shm::CoreShare> cores;                     // By rank: what its node may use.
  std::shared_ptr<const patterns::SwitchTree> switches;  // Null: nothing is known of any.
  std::vector<int> switch_of;                            // By rank: the switch that its node hangs on.
  std::optional<model::Machine> machine;                 // by whose times algorithms may be predicted
  model::MeasuredChoices measured;     // of the machine's file, as far as the user says nothing
  std::unique_ptr<AgentsHere> agents;  // Null: there are none.
  bool have_tables_agents = false;     // for blocking calls of some kind, by what earlier jobs have learned
  // May calls go on by the host's functions wherever the program is? Else by shared memory alone. Where every
  // rank's host may be called by several threads they may.
  bool may_call_host_aside = false;
  bool are_thread_multiple = false;  // the hosts of all ranks
  // On all ranks (Host::takes_device_memory).
  bool takes_device_memory = false;
  // Does any rank want one order of operands in all reductions over the program's world?
  bool wants_one_order = false;
  // What is collective would wait for ever.
  mutable std::atomic<bool> has_lost_peer{false};

 private:
  struct Introduction;
  struct ReadFirst;
  std::vector<Introduction> introduce(const shm::Pool& own) const;
  static std::string why_of_no_use(const std::vector<Introduction>& of_all);
  std::string first_words() const;
  ReadFirst hear_first_words(const std::string& words, const std::vector<std::string>& warnings);
  void open_pool(const std::vector<Introduction>& of_all);
  void find_nodes();

  mutable Notices notices_;
};

}  // namespace unisono::runtime
