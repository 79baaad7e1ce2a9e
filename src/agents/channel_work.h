// SPDX-License-Identifier: BSD-3-Clause
// An agent's side of a channel: joins what the ranks of its node bring, runs the schedule among the agents,
// and answers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/rank_channel.h"
#include "host/host.h"
#include "schedule/executor.h"

namespace unisono::agents {

class ChannelWork {
 public:
  // Of an open place. Null where what stands there makes no sense; *why says so.
  static std::unique_ptr<ChannelWork> open(host::Host& host, const AgentSegment& segment, int place,
                                           std::string* why);
  // Lets operations go on, none of which waits. True where something went on.
  bool go_on();
  bool has_work() const { return under_way_ != 0; }
  // Tags for so many channels.
  static int channels_within(std::int64_t largest_tag);

 private:
  struct Pending {
    std::uint64_t number = 0;  // the next one at this place of the window
    int arrived = 0;           // ranks 0 .. arrived - 1 have posted it
    bool is_under_way = false;
    Descriptor what;
    schedule::Executor executor;
    std::shared_ptr<const schedule::Compiled> compiled;
    std::vector<char> joined;
  };
  // A schedule as it was last read.
  struct ReadSchedule {
    std::uint32_t version = 0;
    std::shared_ptr<const schedule::Compiled> compiled;
  };
  ChannelWork(host::Host& host, const ChannelMemory& memory, int place);
  bool have_all_come(Pending* operation) const;
  void begin(Pending* operation);
  bool is_over(Pending* operation);
  bool read(Pending* operation);
  const void* operand(const Pending& operation, int rank, std::size_t bytes) const;
  bool start(Pending* operation);
  const void* join(Pending* operation, std::size_t bytes);
  void answer(Pending* operation, int error);

  host::Host& host_;
  ChannelMemory memory_;
  const ChannelShape shape_;
  const int first_tag_;
  std::vector<int> agents_;
  std::array<Pending, window> operations_;
  std::array<ReadSchedule, most_schedules> schedules_;
  int under_way_ = 0;
};

}  // namespace unisono::agents
