// SPDX-License-Identifier: BSD-3-Clause
// An agent's side of a channel: joins what the ranks of its node bring, runs the schedule among the agents,
// and answers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/carrier.h"
#include "agents/confirmation.h"
#include "agents/rank_channel.h"
#include "base/reduce_kernels.h"
#include "host/host.h"
#include "schedule/compiled.h"

namespace unisono::agents {

class ChannelWork {
 public:
  // Of an open place, or one that its ranks have closed. Null where what stands there makes no sense; *why
  // says so.
  static std::unique_ptr<ChannelWork> open(Carrier& carrier, const CarrierGround& ground, bool has_soft_float,
                                           const AgentSegment& segment, int place, std::string* why);
  // Lets operations go on, none of which waits. True where something went on. Where the agent can go on with
  // none of its calls any more *why says so.
  bool go_on(std::string* why);
  bool has_work() const { return under_way_ != 0 || closing_ == Closing::wanted; }
  const std::vector<int>& agents() const { return agents_; }  // of each node
  int own_node() const { return shape_.own_node; }
  const ChannelMemory& memory() const { return memory_; }
  // Its ranks have left it.
  void close() {
    closing_ = closing_ == Closing::given_up ? Closing::done : std::max(closing_, Closing::wanted);
  }
  // All ranks of all nodes have left it: its place is free.
  bool is_closed() const { return closing_ == Closing::done; }
  // Tags for so many channels.
  static int channels_within(std::int64_t largest_tag);
  static int first_tag(int place);  // of the channel's team

  // Where other agents have begun it: the operation at which its place of the window goes on. It may be
  // answered already; `is_again`: it is made once more, by what this node has kept of it.
  void take_up(std::uint64_t number, bool is_again);
  // Nobody can go on with it.
  void give_up() { closing_ = Closing::given_up; }

 private:
  enum class Closing : std::uint8_t { no, given_up, wanted, under_way, done };
  struct Pending {
    enum class State : std::uint8_t { posted, running, confirming };
    std::uint64_t number = 0;     // the next one at this place of the window
    int arrived = 0;              // ranks 0 .. arrived - 1 have posted it
    State state = State::posted;  // not yet, by all
    bool is_again = false;
    Descriptor what;
    Confirmation confirmation;
    std::shared_ptr<const schedule::Compiled> compiled;
    std::vector<char> joined;
  };
  // A schedule as it was last read.
  struct ReadSchedule {
    std::uint32_t version = 0;
    std::shared_ptr<const schedule::Compiled> compiled;
  };
  ChannelWork(Carrier& carrier, const CarrierGround& ground, bool has_soft_float, const ChannelMemory& memory,
              int place);
  bool go_on(Pending* operation, std::string* why);
  Kernel kernel_of(const Descriptor& what) const;
  bool have_all_come(Pending* operation) const;
  void begin(Pending* operation);
  bool begin_new(Pending* operation);
  bool begin_again(Pending* operation);
  bool is_over(Pending* operation, std::string* why);
  bool is_sensible(const Pending& operation) const;
  bool read_schedule(Pending* operation);
  const void* operand(const Pending& operation, int rank, std::size_t bytes) const;
  bool start(Pending* operation);
  void post(const Pending& operation, const schedule::Data& data);
  const void* join(Pending* operation, std::size_t bytes);
  void answer(Pending* operation, int error);
  void confirm(Pending* operation);
  void pass(Pending* operation);
  bool go_on_closing();

  const CarrierGround ground_;
  ChannelMemory memory_;
  const ChannelShape shape_;
  const bool has_soft_float_;
  const int place_;
  std::vector<int> agents_;
  std::unique_ptr<Team> team_;
  std::array<Pending, window> operations_;
  std::array<ReadSchedule, most_schedules> schedules_;
  Closing closing_ = Closing::no;
  Confirmation closing_confirmation_;
  int under_way_ = 0;
};

}  // namespace unisono::agents
