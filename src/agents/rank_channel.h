// SPDX-License-Identifier: BSD-3-Clause
// A communicator's part of an agent's memory, and what a rank does there. An operation has a number, from 1
// on, the same on all ranks. Its place is number % window. Each rank writes lines of its own, the agent
// answers alone: so each line has one writer, and its number, written last, says that it is there.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "agents/agent_segment.h"
#include "agents/window.h"
#include "base/float_control.h"
#include "base/types.h"

namespace unisono::agents {

// What another node lacks may have to be made again, so it is kept: a node's answers may be ahead by two
// windows. What its ranks post may be ahead by one more.
inline constexpr int answers_kept = 2 * window;
inline constexpr int most_schedules = 3 * window;
inline constexpr std::size_t most_schedule_bytes = 32 * 1024;
inline constexpr std::size_t most_bytes = 32 * 1024;  // of an operation

// What is to be done. `schedule` of the first rank of the node holds.
struct Descriptor {
  std::uint32_t count = 0;
  std::uint16_t schedule_version = 0;
  std::uint8_t schedule = 0;
  Operation operation = Operation::barrier;
  ElementType element = ElementType::byte;
  ReduceOp op = ReduceOp::sum;
  bool is_root = false;          // this rank of the node gives what it has (bcast), or gets it (reduce)
  FloatControl float_control{};  // how the program computes
};

struct alignas(64) Line {
  static constexpr std::size_t inline_bytes = 32;
  std::atomic<std::uint64_t> number;
  Descriptor descriptor;
  alignas(8) char data[inline_bytes];  // what is longer stands in the rank's area
};
static_assert(sizeof(Line) == 64);

// Ranks read its first line. Its data is the result, also where the node's ranks need none. A node that is
// not the root of a reduce has what its own ranks bring: the root may need it again.
struct alignas(64) Answer {
  static constexpr std::size_t inline_bytes = 48;
  std::atomic<std::uint64_t> number;
  std::int32_t error;    // the agent's MPI's
  std::uint8_t carrier;  // what went between nodes: its number among carriers()
  alignas(8) char data[inline_bytes];
  alignas(64) Descriptor what;
  std::int32_t root;       // a node
  std::uint64_t answered;  // when, ticks: a rank of the same machine knows them
};
static_assert(sizeof(Answer) == 128);

struct Schedule {
  std::uint32_t version, bytes;
  char form[most_schedule_bytes];
};

// What the first rank of the node writes before it opens the channel.
struct alignas(64) ChannelShape {
  std::int32_t nodes, own_node, ranks;  // ranks: of this node
};

// Where everything stands behind `memory`.
class ChannelMemory {
 public:
  ChannelMemory(char* memory, std::int32_t nodes, std::int32_t ranks)
      : memory_(memory), nodes_(nodes), ranks_(ranks) {}
  static std::size_t bytes(std::int32_t nodes, std::int32_t ranks);

  ChannelShape& shape() const { return *reinterpret_cast<ChannelShape*>(memory_); }
  // Of each node, in the communicator's order of nodes: its agent's rank among agents.
  std::int32_t* agents() const { return reinterpret_cast<std::int32_t*>(memory_ + sizeof(ChannelShape)); }
  Schedule& schedule(int index) const {
    return reinterpret_cast<Schedule*>(memory_ + schedules_at(nodes_))[index];
  }
  Line& line(std::uint64_t number, int rank) const {
    return reinterpret_cast<Line*>(
        memory_ +
        lines_at(nodes_))[number % window * static_cast<unsigned>(ranks_) + static_cast<unsigned>(rank)];
  }
  Answer& answer(std::uint64_t number) const {
    return reinterpret_cast<Answer*>(memory_ + answers_at(nodes_, ranks_))[number % answers_kept];
  }
  bool is_answered(std::uint64_t number) const {
    return answer(number).number.load(std::memory_order_acquire) == number;
  }
  char* area(std::uint64_t number, int rank) const {
    return areas() +
           (number % window * static_cast<unsigned>(ranks_) + static_cast<unsigned>(rank)) * most_bytes;
  }
  // Of an answer with so many bytes.
  char* data(std::uint64_t number, std::size_t bytes) const {
    if (bytes <= Answer::inline_bytes) return answer(number).data;
    return areas() + (static_cast<unsigned>(window * ranks_) + number % answers_kept) * most_bytes;
  }
  // As nobody has used it. Schedules and areas do not count.
  void clear() const;

 private:
  char* areas() const { return memory_ + areas_at(nodes_, ranks_); }
  static std::size_t schedules_at(std::int32_t nodes);
  static std::size_t lines_at(std::int32_t nodes);
  static std::size_t answers_at(std::int32_t nodes, std::int32_t ranks);
  static std::size_t areas_at(std::int32_t nodes, std::int32_t ranks);

  char* memory_;
  std::int32_t nodes_, ranks_;
};

// What tells schedules apart.
struct ScheduleKey {
  Operation operation = Operation::barrier;
  int root = 0;                  // a node
  std::string_view algorithm{};  // what it says lives as long as the channel
  bool operator==(const ScheduleKey&) const = default;
};

// A rank's side. One thread at a time.
class RankChannel {
 public:
  // Of the first rank of a node: makes the channel at a free place that it has taken. False where the memory
  // is full; then the place is free again.
  static bool make(const AgentSegment& segment, int place, const ChannelShape& shape,
                   const std::vector<std::int32_t>& agents);
  // Where other nodes could not: nobody has used it.
  static void unmake(const AgentSegment& segment, int place);
  // At the place that the node's first rank has opened.
  RankChannel(const AgentSegment& segment, int place, int rank);
  ~RankChannel();  // the last one closes the channel
  RankChannel(const RankChannel&) = delete;
  RankChannel& operator=(const RankChannel&) = delete;

  // May another operation be posted?
  bool has_room() const { return posted_ - taken_ < window; }
  // Posts the next operation, with this rank's operand (null: none). Returns its number. `descriptor` of the
  // first rank names a schedule.
  std::uint64_t post(Descriptor descriptor, const void* operand, std::size_t bytes);
  // Is the operation's result there?
  bool is_answered(std::uint64_t number) const { return memory_.is_answered(number); }
  const Answer& answer(std::uint64_t number) const { return memory_.answer(number); }
  int error(std::uint64_t number) const { return memory_.answer(number).error; }
  // What carried it between nodes: its number among carriers().
  int carrier(std::uint64_t number) const { return memory_.answer(number).carrier; }
  // When, ticks. It stands in a line that nobody else of the ranks reads.
  std::uint64_t answered(std::uint64_t number) const { return memory_.answer(number).answered; }
  const void* result(std::uint64_t number, std::size_t bytes) const { return memory_.data(number, bytes); }
  // The operation is over for this rank. One after the other, in the order of numbers.
  void take(std::uint64_t number) { taken_ = number; }

  // Of the first rank: where the schedule stands; -1: nowhere.
  int find(const ScheduleKey& key) const;
  // Keeps it in place of one that no operation under way uses. -1 where it is too long.
  int keep(const ScheduleKey& key, std::string_view form);
  std::uint16_t version(int schedule) const {
    return static_cast<std::uint16_t>(memory_.schedule(schedule).version);
  }
  bool is_first() const { return rank_ == 0; }

 private:
  struct Kept {
    ScheduleKey key;
    bool is_used = false;
    std::uint64_t last_number = 0;  // of the operation that used it last
  };
  const AgentSegment& segment_;
  int place_, rank_;
  ChannelMemory memory_;
  std::uint64_t posted_ = 0, taken_ = 0;
  std::array<Kept, most_schedules> kept_{};
};

}  // namespace unisono::agents
