// SPDX-License-Identifier: BSD-3-Clause
// The agents beside the job's ranks (src/agents), where there are any: this node's, by its memory, and which
// one each rank has.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents/meeting.h"
#include "base/mutex.h"
#include "runtime/world/agent_thread.h"

namespace unisono::runtime {

class World;

class AgentsHere {
 public:
  // Collective over the private world. Null on all ranks where a rank finds none; rank 0 says why.
  static std::unique_ptr<AgentsHere> find(const World& world);

  const agents::AgentSegment& segment() const { return connection_->segment(); }
  const std::vector<int>& of_rank() const { return of_rank_; }  // of the private world
  int channels() const { return channels_; }                    // that all of them have
  // What agents go by between nodes, and why it is not what was asked for (empty: it is).
  const std::string& carrier() const { return carrier_; }
  const std::string& why_not_carrier() const { return why_not_carrier_; }
  int starts_again() const {
    return static_cast<int>(segment().header().starts_again.load(std::memory_order_relaxed));
  }
  // Has this node's agent died, or given up, and has nobody taken over what it had for as long as ranks wait
  // for agents? Looks now and then, if it is asked again and again.
  bool are_lost_by_now() const;
  // Null: this rank has no agent's thread.
  AgentThread* thread() const { return thread_.get(); }
  // The agent's thread ends, where this rank has one, and the agent lives on as a source of `progress`.
  void hand_over_to(Progress* progress) const;

 private:
  AgentsHere(std::unique_ptr<AgentThread> thread, std::unique_ptr<agents::Connection> connection,
             std::vector<int> of_rank, int channels, double longest_s)
      : thread_(std::move(thread)),
        connection_(std::move(connection)),
        of_rank_(std::move(of_rank)),
        channels_(channels),
        longest_s_(longest_s),
        carrier_(segment().header().carrier) {}
  bool look() const UNISONO_REQUIRES(mutex_);

  std::unique_ptr<AgentThread> thread_;  // ends when the node's ranks have left it: it goes last
  std::unique_ptr<agents::Connection> connection_;
  std::vector<int> of_rank_;
  int channels_;
  double longest_s_;
  std::string carrier_, why_not_carrier_;
  mutable Mutex mutex_;
  mutable double lost_since_s_ UNISONO_GUARDED_BY(mutex_) = 0;  // 0: they are there
  mutable std::atomic<std::uint64_t> next_look_ns_{0};
  mutable std::atomic<bool> are_lost_{false};
};

}  // namespace unisono::runtime
