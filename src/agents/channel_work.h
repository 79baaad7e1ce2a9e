// SPDX-License-Identifier: BSD-3-Clause
// An agent's side of a channel: joins what the ranks of its node bring, runs the schedule among the agents,
// and answers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/carrier.h"
#include "agents/rank_channel.h"
#include "host/host.h"
#include "schedule/compiled.h"

namespace unisono::agents {

class ChannelWork {
 public:
  // Of an open place. Null where what stands there makes no sense; *why says so.
  static std::unique_ptr<ChannelWork> open(Carrier& carrier, const AgentSegment& segment, int place,
                                           std::string* why);
  // Lets operations go on, none of which waits. True where something went on. Where the agent can go on with
  // none of its calls any more *why says so.
  bool go_on(std::string* why);
  bool has_work() const { return under_way_ != 0; }
  // Tags for so many channels.
  static int channels_within(std::int64_t largest_tag);

 private:
  struct Pending {
    std::uint64_t number = 0;  // the next one at this place of the window
    int arrived = 0;           // ranks 0 .. arrived - 1 have posted it
    bool is_under_way = false;
    Descriptor what;
    std::shared_ptr<const schedule::Compiled> compiled;
    std::vector<char> joined;
  };
  // A schedule as it was last read.
  struct ReadSchedule {
    std::uint32_t version = 0;
    std::shared_ptr<const schedule::Compiled> compiled;
  };
  ChannelWork(Carrier& carrier, const ChannelMemory& memory, int place);
  bool have_all_come(Pending* operation) const;
  void begin(Pending* operation);
  bool is_over(Pending* operation, std::string* why);
  bool read(Pending* operation);
  const void* operand(const Pending& operation, int rank, std::size_t bytes) const;
  bool start(Pending* operation);
  const void* join(Pending* operation, std::size_t bytes);
  void answer(Pending* operation, int error);

  ChannelMemory memory_;
  const ChannelShape shape_;
  std::unique_ptr<Team> team_;
  std::array<Pending, window> operations_;
  std::array<ReadSchedule, most_schedules> schedules_;
  int under_way_ = 0;
};

}  // namespace unisono::agents
