// SPDX-License-Identifier: BSD-3-Clause
// The agents beside the job's ranks (src/agents), where there are any: this node's, by its memory, and which
// one each rank has.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/meeting.h"

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
  // Has this node's agent died, or given up? Looks now and then, if it is asked again and again.
  bool are_lost_by_now() const;

 private:
  AgentsHere(std::unique_ptr<agents::Connection> connection, std::vector<int> of_rank, int channels)
      : connection_(std::move(connection)),
        of_rank_(std::move(of_rank)),
        channels_(channels),
        carrier_(segment().header().carrier) {}

  std::unique_ptr<agents::Connection> connection_;
  std::vector<int> of_rank_;
  int channels_;
  std::string carrier_, why_not_carrier_;
  mutable std::atomic<std::uint64_t> next_look_ns_{0};
  mutable std::atomic<bool> are_lost_{false};
};

}  // namespace unisono::runtime
